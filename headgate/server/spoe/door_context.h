// The state that the connections of one SPOE door share.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/net/spoe_messages.h"
#include "headgate/server/channel.h"
#include "headgate/server/credentials.h"
#include "headgate/server/door.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Working memory of one thread. A connection uses it while it is served, and keeps nothing in it.
struct SpoeDoorContext {
  SpoeDoorContext(WorkerContext& the_worker, const DoorOptions& options)
      : worker(the_worker), its_credentials(options.credentials), credentials(*its_credentials) {}

  WorkerContext& worker;
  std::shared_ptr<Credentials> its_credentials;
  CredentialsView credentials;  // for TLS; the protocol has no token
  Channel::Unsent unsent;

  std::array<char, 64 * 1024> input;  // hundreds of frames of requests
  std::string output;
  net::SpoeMessages messages;
  std::array<char, 16 * 1024> fields;  // as long as the longest head that common clients accept
  std::string text;                    // a receipt, or a variable's name
  std::chrono::steady_clock::time_point next_log{};  // when a fault may be logged again
};

}  // namespace headgate::server
