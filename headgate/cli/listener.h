// A listening TCP socket, opened by us and handed to nginx.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// Splits ADDR:PORT and [ADDR]:PORT; false if it is neither. Does not look the address up.
[[nodiscard]] bool split_address(std::string_view text, std::string& host, std::string& port);

// Opening the socket ourselves, before nginx starts, lets port 0 mean "any free one" and gives
// clear words when it can't be had; nginx inherits it and keeps it across reloads.
class Listener {
 public:
  // `text` is ADDR:PORT, [ADDR]:PORT or *:PORT (every IPv4 address).
  [[nodiscard]] static Result<Listener, std::string> open(std::string_view text);

  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  [[nodiscard]] int fd() const noexcept { return fd_; }
  // Numeric, with the port that was really bound: "127.0.0.1:8080", "[::1]:8080".
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

 private:
  Listener(int fd, std::string address) noexcept : fd_(fd), address_(std::move(address)) {}

  int fd_;
  std::string address_;
};

}  // namespace headgate::cli
