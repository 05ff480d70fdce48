// What the service manager (systemd, Type=notify) is told about this process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace headgate::server {

// Sends messages to the socket that the variable NOTIFY_SOCKET names. Without the variable, the
// calls do nothing. Not thread-safe.
class ServiceManager {
 public:
  // `warn` logs why a message could not be sent: without READY=1, systemd ends a process that
  // works. Of several failures in a row, only the first one is logged.
  using Warn = std::function<void(const std::string&)>;
  explicit ServiceManager(Warn warn) : warn_(std::move(warn)) {}

  // Requests are answered: after the start, and after a reload, refused or not.
  void notify_ready();

  // A reload has begun; notify_ready() follows.
  void notify_reloading();

  // The process stops when its requests are answered, which takes this long at most. Until then it
  // is not to be killed, whatever TimeoutStopSec= says.
  void notify_stopping(std::chrono::seconds most);

 private:
  // Lines of NAME=VALUE.
  void send(const std::string& message);

  Warn warn_;
  bool failed_ = false;  // the last message
};

}  // namespace headgate::server
