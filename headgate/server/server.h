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
  // The time that open requests have to end after a stop is requested. As long as
  // DoorOptions::patience, so that none is cut off that would still be in time.
  std::chrono::seconds stop_within{10};
};

// Runs the doors until SIGINT or SIGTERM; a second signal aborts open requests. SIGHUP reads the
// files of the credentials and the policy file again. The calling thread waits for these signals,
// and blocks them for itself and for the threads that it starts. Errors: a sentence; then no door
// was opened to clients.
[[nodiscard]] Result<void, std::string> run_server(Engine& engine, ServerOptions options);

}  // namespace headgate::server
