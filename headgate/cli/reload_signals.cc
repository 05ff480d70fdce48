#include "headgate/cli/reload_signals.h"

#include <csignal>

namespace headgate::cli {

void hold_reload_signals() noexcept {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGHUP, SIGUSR1}) sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

}  // namespace headgate::cli
