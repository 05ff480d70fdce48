// The state that the sessions of one RESP door share.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "headgate/server/channel.h"
#include "headgate/server/resp/throttle_batch.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

struct RespDoorContext {
  RespDoorContext(WorkerContext& the_worker, std::string the_token)
      : worker(the_worker), token(std::move(the_token)), throttles(the_worker) {}

  WorkerContext& worker;
  std::string token;  // the password that clients must send; empty: none
  Channel::Unsent unsent;
  ThrottleBatch throttles;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();  // for INFO
};

}  // namespace headgate::server
