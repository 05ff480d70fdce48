// The decision server: one engine behind any mix of doors.
#pragma once

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
};

// Runs the doors until SIGINT or SIGTERM; open requests then have stop_time(), and a second signal
// aborts them. SIGHUP reads the files of the credentials and the policy file again. The calling
// thread waits for these signals, and blocks them for itself and for the threads that it starts.
// Errors: a sentence; then no door was opened to clients.
[[nodiscard]] Result<void, std::string> run_server(Engine& engine, ServerOptions options);

}  // namespace headgate::server
