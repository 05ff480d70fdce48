// The decision server: one engine behind any mix of doors.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/server/door.h"
#include "headgate/server/engine.h"
#include "headgate/server/listening.h"

namespace headgate::server {

struct ServerOptions {
  std::vector<Listening> listening;
  DoorOptions door;
  std::chrono::seconds stop_within{10};  // what has begun is finished within that time
};

// Runs the doors until SIGINT or SIGTERM; a second one stops at once. SIGHUP reads the policy file
// again. The calling thread waits for signals, which it blocks for itself and the threads that it
// starts. Errors: a sentence; then nothing was served.
[[nodiscard]] Result<void, std::string> run_server(Engine& engine, ServerOptions options);

}  // namespace headgate::server
