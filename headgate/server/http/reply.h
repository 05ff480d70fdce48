// Writes one response of the HTTP door.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/base/instant.h"
#include "headgate/gate/waiting.h"

namespace headgate::server {

// The current second as a Date field.
class DateLine {
 public:
  // Returns "Date: Sat, 31 Jan 2026 12:00:00 GMT\r\n". Reads a coarse clock: seconds suffice.
  [[nodiscard]] std::string_view text() noexcept;

 private:
  std::int64_t second_ = -1;
  char text_[48];
  std::size_t size_ = 0;
};

// Returns "Not Found" for 404, and "" for a status without a registered phrase.
[[nodiscard]] std::string_view reason_phrase(unsigned status) noexcept;

inline void append_decimal(std::string& out, std::uint64_t value) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// Appends to a connection's output: begin(), any number of field() and lines(), end(). Names and
// values must not contain CR or LF.
class HttpReply {
 public:
  struct Connection {
    bool keeps_alive;
    bool is_http_1_0;
    bool is_head;
  };

  HttpReply(std::string& out, DateLine& date, Connection connection) noexcept
      : out_(out), date_(date), connection_(connection) {}

  void begin(unsigned status);
  void field(std::string_view name, std::string_view value) {
    out_.append(name).append(": ").append(value).append("\r\n");
  }
  void field(std::string_view name, std::uint64_t value) {
    out_.append(name).append(": ");
    append_decimal(out_, value);
    out_.append("\r\n");
  }
  // Whole lines, each with its CRLF.
  void lines(std::string_view text) { out_.append(text); }
  void end(std::string_view type, std::string_view body);
  void end() { end({}, {}); }

  // The reply is to be sent after this time [ns], in which its request waits.
  void hold(Nanos span, gate::Waiting waiting) noexcept {
    held_ = span;
    waiting_ = std::move(waiting);
  }
  [[nodiscard]] Nanos held() const noexcept { return held_; }
  [[nodiscard]] gate::Waiting take_waiting() noexcept { return std::move(waiting_); }

  // The connection will not be used again.
  void close() noexcept { connection_.keeps_alive = false; }
  [[nodiscard]] bool keeps_alive() const noexcept { return connection_.keeps_alive; }
  [[nodiscard]] const Connection& connection() const noexcept { return connection_; }

 private:
  std::string& out_;
  DateLine& date_;
  Connection connection_;
  Nanos held_ = 0;
  gate::Waiting waiting_;
};

}  // namespace headgate::server
