// The terminal in full-screen mode: the alternate screen, and single key presses. The destructor
// restores what was before.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/cli/top/view.h"

namespace headgate::cli {

// At most one at a time. As long as it exists, SIGINT, SIGTERM, SIGHUP and SIGWINCH are handled by
// wait() only.
class Terminal {
 public:
  // REQUIRES: is_there(). If standard input is not a terminal, wait() sees no keys.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Whether standard output is a terminal.
  [[nodiscard]] static bool is_there() noexcept;

  [[nodiscard]] Screen size() const noexcept;

  // Replaces the screen's content. Lines are printable ASCII and not wider than the screen; the
  // first is shown in reverse video.
  void show(std::span<const std::string> lines);

  enum class Event { time, resized, leave };
  // Waits for `time`, or until the user leaves (q, Ctrl-C, SIGINT, SIGTERM, SIGHUP) or the size
  // changes.
  [[nodiscard]] Event wait(std::chrono::milliseconds time);

 private:
  std::optional<termios> before_;  // of standard input
  sigset_t mask_before_{};
};

}  // namespace headgate::cli
