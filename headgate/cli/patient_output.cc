#include "headgate/cli/patient_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <iostream>
#include <string>
#include <utility>

namespace headgate::cli {

std::streamsize PatientOutput::xsputn(const char* text, std::streamsize size) {
  const std::string_view lines(text, static_cast<std::size_t>(size));
  if (lost_ == 0 || write_gap()) {
    if (write(lines)) return size;
  }
  lost_ += static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  return size;  // also of what is lost: the stream stays good
}

PatientOutput::int_type PatientOutput::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  xsputn(&one, 1);
  return c;
}

bool PatientOutput::write_gap() {
  const std::string words = "log lines lost because nobody read standard error: ";
  if (!write((is_torn_ ? "\n" : "") + make_line_(words + std::to_string(lost_)))) return false;
  lost_ = 0;
  return true;
}

bool PatientOutput::write(std::string_view text) noexcept {
  while (!text.empty()) {
    if (!takes_more()) return false;
    // No more than a pipe that is ready takes without a wait.
    const ssize_t written = ::write(fd_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
    is_torn_ = !text.empty();
  }
  return true;
}

bool PatientOutput::takes_more() noexcept {
  pollfd polled{fd_, POLLOUT, 0};
  const int time = stalls_ ? 0 : static_cast<int>(patience_.count());
  int ready = 0;
  while ((ready = poll(&polled, 1, time)) < 0 && errno == EINTR) {
  }
  stalls_ = ready == 0;
  return ready > 0;
}

PatientErrors::PatientErrors(PatientOutput::MakeLine make_line)
    : output_(STDERR_FILENO, std::move(make_line)), before_(std::cerr.rdbuf(&output_)) {}

PatientErrors::~PatientErrors() { std::cerr.rdbuf(before_); }

}  // namespace headgate::cli
