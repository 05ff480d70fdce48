// TLS for the connections that a server accepts, with OpenSSL.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace headgate::net {

// One connection. receive() and send() return what recv() and send() of a non-blocking socket
// return, and set errno as they do; the handshake is part of the first of them. Not thread-safe.
class TlsStream {
 public:
  TlsStream(TlsStream&& other) noexcept : ssl_(std::exchange(other.ssl_, nullptr)) {}
  TlsStream& operator=(TlsStream&&) = delete;
  ~TlsStream();

  [[nodiscard]] ssize_t receive(std::span<char> room) noexcept;
  [[nodiscard]] ssize_t send(std::string_view bytes) noexcept;
  // Sends that no more bytes follow.
  void end() noexcept;

  // Whether the handshake is done; the client has then shown a certificate if it must.
  [[nodiscard]] bool established() const noexcept;
  // Whether receive() returns bytes although the socket has none.
  [[nodiscard]] bool has_more() const noexcept;
  // Whether the last call that failed with EAGAIN waits until the socket can be written.
  [[nodiscard]] bool waits_to_write() const noexcept { return waits_to_write_; }

 private:
  friend class TlsContext;
  explicit TlsStream(ssl_st* ssl) noexcept : ssl_(ssl) {}

  [[nodiscard]] ssize_t result(int returned, std::size_t done) noexcept;

  ssl_st* ssl_;
  bool waits_to_write_ = false;
  bool failed_ = false;
};

// A certificate with its key, and whose certificates clients must show. Immutable, thread-safe.
class TlsContext {
 public:
  // Reads PEM files. An empty `client_ca`: clients need no certificate. Errors: a sentence that
  // names the file.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>, std::string> load(
      const std::string& cert, const std::string& key, const std::string& client_ca);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  // The server's side of a new connection. A client that offers protocols (ALPN) must offer
  // `protocol`, unless that is null; static storage. Throws std::bad_alloc.
  [[nodiscard]] TlsStream accept(int fd, const char* protocol) const;

 private:
  explicit TlsContext(ssl_ctx_st* context) noexcept : context_(context) {}

  ssl_ctx_st* context_;
};

}  // namespace headgate::net
