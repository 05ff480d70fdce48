#include "headgate/server/service_manager.h"

#include <systemd/sd-daemon.h>

namespace headgate::server {

void notify_ready() noexcept { sd_notify(0, "READY=1"); }

void notify_reloading() noexcept {
  // The time is how systemd connects the message with the reload that it asked for.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  sd_notifyf(
      0, "RELOADING=1\nMONOTONIC_USEC=%lld",
      static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
}

void notify_stopping(std::chrono::seconds most) noexcept {
  sd_notifyf(0, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld",
             static_cast<long long>(std::chrono::microseconds(most).count()));
}

}  // namespace headgate::server
