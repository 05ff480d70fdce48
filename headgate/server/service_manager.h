// What the service manager (systemd, Type=notify) is told about this process. Without one that
// listens, the calls do nothing. Any thread may call them.
#pragma once

namespace headgate::server {

// Requests are answered: after the start, and after a reload, refused or not.
void notify_ready() noexcept;

// A reload has begun; notify_ready() follows.
void notify_reloading() noexcept;

// The process stops when its requests are answered.
void notify_stopping() noexcept;

}  // namespace headgate::server
