// One address of the server, and the door that answers there.
#pragma once

#include <optional>

#include "headgate/net/endpoint.h"
#include "headgate/server/door.h"

namespace headgate::server {

struct Listening {
  DoorKind kind;
  net::Endpoint endpoint;
  MakeDoor make_door = nullptr;    // one door per worker
  std::optional<int> passed = {};  // the socket of the service manager, if it has one
};

}  // namespace headgate::server
