// The state that the sessions of one RESP door share.
#pragma once

#include <chrono>
#include <memory>

#include "headgate/net/resp_reader.h"
#include "headgate/server/channel.h"
#include "headgate/server/credentials.h"
#include "headgate/server/door.h"
#include "headgate/server/resp/throttle_batch.h"
#include "headgate/server/worker_context.h"
#include "headgate/server/wrong_tokens.h"

namespace headgate::server {

struct RespDoorContext {
  RespDoorContext(WorkerContext& the_worker, const DoorOptions& options)
      : worker(the_worker),
        its_credentials(options.credentials),
        credentials(*its_credentials),
        wrong_tokens(DoorKind::resp, *its_credentials, worker.stats(), options.patience),
        throttles(the_worker) {}

  WorkerContext& worker;
  std::shared_ptr<Credentials> its_credentials;
  CredentialsView credentials;  // the token is the password that clients must send
  WrongTokens wrong_tokens;
  Channel::Unsent unsent;
  ThrottleBatch throttles;
  net::RespWords words;  // of the command that is being answered
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();  // for INFO
};

}  // namespace headgate::server
