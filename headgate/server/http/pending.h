// An exchange of the HTTP door whose decision is outstanding.
#pragma once

#include <optional>

#include "headgate/server/decision_job.h"
#include "headgate/server/http/original_request.h"
#include "headgate/server/http/reply.h"

namespace headgate::server {

struct HttpDoorContext;

// What the answer to an auth query depends on beside the verdict.
struct AuthTerms {
  std::optional<unsigned> deny_status;  // ?deny=STATUS
  Guess guess = Guess::none;
  bool wants_problem = false;  // a denial has a problem document
};

// All that is needed of the request, whose bytes are discarded.
struct HttpPending {
  Job::Held<DecisionJob> job;
  void (*finish)(const HttpPending& pending, HttpDoorContext& door, HttpReply& reply) = nullptr;
  HttpReply::Connection connection{};
  AuthTerms auth{};  // of /auth
};

}  // namespace headgate::server
