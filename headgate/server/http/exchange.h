// One request of the HTTP door and the reply to it.
#pragma once

#include "headgate/server/http/caller.h"
#include "headgate/server/http/door_context.h"
#include "headgate/server/http/reply.h"
#include "headgate/server/http/request.h"

namespace headgate::server {

// What a function that answers a request needs. Lives while the request is answered.
struct Exchange {
  HttpDoorContext& door;
  const HttpRequest& request;
  HttpReply& reply;
  HttpCaller& caller;
};

}  // namespace headgate::server
