#include "headgate/server/service_manager.h"

#include <systemd/sd-daemon.h>

#include <system_error>

namespace headgate::server {

void ServiceManager::notify_ready() { send("READY=1"); }

void ServiceManager::notify_reloading() {
  // The time is how systemd connects the message with the reload that it asked for.
  const std::chrono::microseconds now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now.count()));
}

void ServiceManager::notify_stopping(std::chrono::seconds most) {
  send("STOPPING=1\nEXTEND_TIMEOUT_USEC=" +
       std::to_string(std::chrono::microseconds(most).count()));
}

void ServiceManager::send(const std::string& message) {
  const int result = sd_notify(0, message.c_str());
  const bool failed = result < 0;
  if (failed && !failed_) {
    warn_("can't send " + message.substr(0, message.find('\n')) +
          " to the service manager (NOTIFY_SOCKET): " + std::generic_category().message(-result));
  }
  failed_ = failed;
}

}  // namespace headgate::server
