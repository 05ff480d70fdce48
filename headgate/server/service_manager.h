// What the service manager (systemd, Type=notify) is told about this process. Without one that
// listens, the calls do nothing. Any thread may call them.
#pragma once

#include <chrono>

namespace headgate::server {

// Requests are answered: after the start, and after a reload, refused or not.
void notify_ready() noexcept;

// A reload has begun; notify_ready() follows.
void notify_reloading() noexcept;

// The process stops when its requests are answered, which takes this long at most. Until then it is
// not to be killed, whatever TimeoutStopSec= says.
void notify_stopping(std::chrono::seconds most) noexcept;

}  // namespace headgate::server
