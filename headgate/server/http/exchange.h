// One request of the HTTP door and the reply to it.
#pragma once

#include <optional>

#include "headgate/server/http/caller.h"
#include "headgate/server/http/door_context.h"
#include "headgate/server/http/pending.h"
#include "headgate/server/http/reply.h"
#include "headgate/server/http/request.h"

namespace headgate::server {

// What a function that answers a request needs. Lives while the request is answered. A function
// whose decision is outstanding calls wait() instead of answering.
struct Exchange {
  HttpDoorContext& door;
  const HttpRequest& request;
  HttpReply& reply;
  HttpCaller& caller;
  Resume resume;
  std::optional<HttpPending>& pending;

  // `finish` is called when the decision that WorkerContext::begin() began is there.
  void wait(decltype(HttpPending::finish) finish, const AuthTerms& auth = {}) const {
    pending = HttpPending{door.worker.lend(resume), finish, reply.connection(), auth};
  }
};

}  // namespace headgate::server
