// The signals that ask a server to read its files again.
#pragma once

namespace headgate::cli {

// Keeps SIGHUP and SIGUSR1 from ending this process while it starts: they are pending until the
// server takes them. Called before the files are read. SIGINT and SIGTERM still end the start.
void hold_reload_signals() noexcept;

}  // namespace headgate::cli
