// The terminal as a canvas: a screen of its own, keys as they are pressed, and everything put back
// in the end.
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

// One at a time. Until it goes, the signals that end a program or tell of another size are heard in
// wait() only.
class Terminal {
 public:
  // Of standard output, which is one; standard input may be something else, and then there are no
  // keys.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Whether standard output is a terminal.
  [[nodiscard]] static bool is_there() noexcept;

  [[nodiscard]] Screen size() const noexcept;

  // Replaces what the screen shows. Lines of printable ASCII, none longer than the screen is wide;
  // the first is shown in reverse.
  void show(std::span<const std::string> lines);

  enum class Event { time, resized, leave };
  // Waits for that time, or until somebody wants to leave (q, Ctrl-C, SIGINT, SIGTERM, SIGHUP) or
  // the size changes.
  [[nodiscard]] Event wait(std::chrono::milliseconds time);

 private:
  std::optional<termios> before_;  // of standard input
  sigset_t mask_before_{};
};

}  // namespace headgate::cli
