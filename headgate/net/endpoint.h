// Where a server listens.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::net {

class Endpoint {
 public:
  // ADDR:PORT, [ADDR]:PORT, *:PORT (every IPv4 address) or unix:PATH. Errors: a sentence.
  [[nodiscard]] static Result<Endpoint, std::string> parse(std::string_view text);
  // The same without unix:PATH.
  [[nodiscard]] static Result<Endpoint, std::string> parse_tcp(std::string_view text);

  // As one would write it: "127.0.0.1:8081", "[::1]:8081", "unix:/run/headgate.sock".
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  [[nodiscard]] bool is_unix() const noexcept { return address_.ss_family == AF_UNIX; }
  [[nodiscard]] int family() const noexcept { return address_.ss_family; }
  // Whether only this machine can reach it.
  [[nodiscard]] bool is_local() const noexcept;

  // A listening, non-blocking socket; the caller closes it. With port 0 this endpoint becomes the
  // one that was really bound. Errors: a sentence.
  [[nodiscard]] Result<int, std::string> listen();

  // The same for TCP, as one of several sockets that share the endpoint's connections
  // (SO_REUSEPORT). The first one makes sure that nobody else has it.
  [[nodiscard]] Result<int, std::string> listen_shared();

  // Takes the file of a Unix socket away, once listen() has made it.
  void remove() const noexcept;

 private:
  Endpoint(const sockaddr* address, socklen_t size);

  static Result<Endpoint, std::string> tcp(std::string_view text, std::string_view form);

  enum class Sharing { none, with_ourselves };

  [[nodiscard]] Result<int, std::string> open(Sharing sharing) const;
  [[nodiscard]] const sockaddr* address() const noexcept {
    return reinterpret_cast<const sockaddr*>(&address_);
  }

  sockaddr_storage address_{};
  socklen_t size_ = 0;
  std::string text_;
  bool ours_ = false;  // listened before
};

}  // namespace headgate::net
