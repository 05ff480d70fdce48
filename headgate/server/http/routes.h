// Who answers which request of the HTTP door.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/policy/address/address.h"
#include "headgate/server/http/door_context.h"
#include "headgate/server/http/reply.h"
#include "headgate/server/http/request.h"

namespace headgate::server {

// One request and its reply, for those who answer.
struct Exchange {
  HttpDoorContext& door;
  const HttpRequest& request;
  HttpReply& reply;
  const std::optional<policy::Address>& peer;  // std::nullopt: a Unix socket
};

// Answers a request that is not to be read any further because of its head alone: it is for nobody,
// its method is not the right one, or its token is missing. False: it is to be read and answered.
[[nodiscard]] bool refuse(Exchange& exchange);

// Answers a request that refuse() did not.
void answer(Exchange& exchange);

}  // namespace headgate::server
