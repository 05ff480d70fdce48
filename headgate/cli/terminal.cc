#include "headgate/cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace headgate::cli {
namespace {

constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l";  // alternate screen, no cursor
constexpr std::string_view leave_it = "\x1b[?25h\x1b[?1049l";

volatile sig_atomic_t leave_requested = 0;
volatile sig_atomic_t resized = 0;

void on_signal(int signal) {
  if (signal == SIGWINCH) {
    resized = 1;
  } else {
    leave_requested = 1;
  }
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // the terminal is gone: SIGHUP follows
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Terminal::Terminal() {
  sigset_t handled;
  sigemptyset(&handled);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
    sigaddset(&handled, signal);
    sigaction(signal, &action, nullptr);
  }
  sigprocmask(SIG_BLOCK, &handled, &mask_before_);
  termios now{};
  if (tcgetattr(STDIN_FILENO, &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG);
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  write_all(enter);
}

Terminal::~Terminal() {
  write_all(leave_it);
  if (before_) tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

bool Terminal::is_there() noexcept { return isatty(STDOUT_FILENO) == 1; }

Screen Terminal::size() const noexcept {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

void Terminal::show(std::span<const std::string> lines) {
  std::string text = "\x1b[H";
  const std::size_t width = size().width;
  for (const std::string& line : lines) {
    const bool first = &line == lines.data();
    if (!first) text += "\r\n";
    text += first ? "\x1b[7m" + line + std::string(width - std::min(width, line.size()), ' ') +
                        "\x1b[0m"
                  : line + "\x1b[K";
  }
  write_all(text += "\x1b[J");
}

Terminal::Event Terminal::wait(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    pollfd keys{before_ ? STDIN_FILENO : -1, POLLIN, 0};
    const auto left = std::max(std::chrono::nanoseconds(0),
                               std::chrono::nanoseconds(end - std::chrono::steady_clock::now()));
    const timespec limit{static_cast<time_t>(left.count() / 1'000'000'000),
                         static_cast<long>(left.count() % 1'000'000'000)};
    const int ready = ppoll(&keys, 1, &limit, &mask_before_);
    if (leave_requested != 0) return Event::leave;
    if (resized != 0) {
      resized = 0;
      return Event::resized;
    }
    if (ready == 0) return Event::time;
    if (ready < 0) continue;
    std::array<char, 64> typed{};
    const ssize_t count = read(STDIN_FILENO, typed.data(), typed.size());
    if (count <= 0) return Event::leave;
    for (const char key : std::string_view(typed.data(), static_cast<std::size_t>(count))) {
      if (key == 'q' || key == 'Q' || key == '\x03') return Event::leave;
    }
  }
}

}  // namespace headgate::cli
