#include "headgate/server/accept_log.h"

#include <spdlog/spdlog.h>

#include <cstring>
#include <utility>

#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

// A person who watches the log sees within this time whether it goes on.
constexpr std::chrono::seconds apart{10};

// While clients wait, each worker fails 20 times in this time.
constexpr std::chrono::seconds quiet{1};

}  // namespace

void AcceptLog::look(Clock::time_point now) {
  std::uint64_t failures = 0;
  int error = 0;
  engine_.for_each_worker([&](const WorkerContext& worker) {
    const std::uint64_t of_worker = worker.stats().accept_failures();
    failures += of_worker;
    if (of_worker > 0) error = worker.stats().last_accept_error();
  });
  if (std::exchange(failures_, failures) != failures) {
    last_ = now;
    if (failing_ || now < next_) return;
    failing_ = true;
    next_ = now + apart;
    spdlog::error("connections cannot be accepted: {}; it is tried again until they can",
                  std::strerror(error));
  } else if (failing_ && now - last_ >= quiet) {
    failing_ = false;
    spdlog::info("no connection fails to be accepted any more");
  }
}

}  // namespace headgate::server
