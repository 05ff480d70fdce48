// The address at which a server listens: TCP or a Unix socket.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::net {

class Endpoint {
 public:
  // Reads ADDR:PORT, [ADDR]:PORT, *:PORT (every IPv4 address) or unix:PATH, which may be followed
  // by
  // ",mode=0660" and ",group=NAME". The error is a sentence that quotes `text`. May resolve a host
  // name.
  [[nodiscard]] static Result<Endpoint, std::string> parse(std::string_view text);
  // The same without unix:PATH.
  [[nodiscard]] static Result<Endpoint, std::string> parse_tcp(std::string_view text);

  // The text that parse() reads as this endpoint, without mode and group: "127.0.0.1:8081",
  // "[::1]:8081", "unix:/run/headgate.sock".
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  // The text() of the endpoint at which this socket was bound. Empty if that is neither TCP nor a
  // path.
  [[nodiscard]] static std::string text_of(int fd);

  [[nodiscard]] bool is_unix() const noexcept { return address_.ss_family == AF_UNIX; }
  [[nodiscard]] int family() const noexcept { return address_.ss_family; }
  // Whether only programs of this machine can connect: a Unix socket or a loopback address.
  [[nodiscard]] bool is_local() const noexcept;

  // Returns a listening, non-blocking socket, which the caller closes. Port 0 is replaced in this
  // endpoint by the port that was bound. The error is a sentence.
  [[nodiscard]] Result<int, std::string> listen();

  // The same for TCP, for one of several sockets of this process that share the endpoint's
  // connections (SO_REUSEPORT). The first call checks that no other process listens there.
  [[nodiscard]] Result<int, std::string> listen_shared();

  // Deletes the file of a Unix socket if it is the one that listen() created, and not that of a
  // server that has listened there since.
  void remove() const noexcept;

 private:
  Endpoint(const sockaddr* address, socklen_t size);

  static Result<Endpoint, std::string> tcp(std::string_view text, std::string_view form);
  static Result<Endpoint, std::string> unix_socket(std::string_view text);

  // Gives the file of a Unix socket its group and its mode, or returns what is wrong.
  [[nodiscard]] Result<void, std::string> set_access(const char* path) const;

  enum class Sharing { none, in_this_process };

  [[nodiscard]] Result<int, std::string> open(Sharing sharing) const;
  [[nodiscard]] const sockaddr* address() const noexcept {
    return reinterpret_cast<const sockaddr*>(&address_);
  }

  sockaddr_storage address_{};
  socklen_t size_ = 0;
  std::string text_;
  bool ours_ = false;  // listen() succeeded before
  // Of a Unix socket: which file listen() created. An inode's number is used again.
  struct File {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t seconds = 0;  // when it was created
    std::int64_t nanoseconds = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  [[nodiscard]] static std::optional<File> file_at(const char* path) noexcept;
  std::optional<File> file_;
  // Of a Unix socket. Whoever may write may connect.
  mode_t mode_ = 0660;
  std::optional<gid_t> group_;  // absent: that of this process
};

}  // namespace headgate::net
