// TLS for the connections that a server accepts, and for those that a client makes, with OpenSSL.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/base/result.h"

struct ssl_ctx_st;
struct ssl_method_st;
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
  // Why the last call failed with EPROTO, in words. To be called before any other TLS call of this
  // thread.
  [[nodiscard]] std::string fault() const;
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

// Why recv() or send(), or receive() or send() of the socket's TLS if it has one, has just failed,
// in words. Reads errno.
[[nodiscard]] std::string connection_fault(const std::optional<TlsStream>& tls);

// What one side shows and requires: a certificate with its key, and whose certificates the other
// side must show. Immutable, thread-safe.
class TlsContext {
 public:
  // Reads PEM files. An empty `client_ca`: clients need no certificate. Errors: a sentence that
  // names the file.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>, std::string> load(
      const std::string& cert, const std::string& key, const std::string& client_ca);
  // For a client. Reads PEM files. An empty `ca`: those that the system trusts. `cert` and `key`
  // are both empty if the server requires no certificate. Errors as load().
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>, std::string> load_for_client(
      const std::string& ca, const std::string& cert, const std::string& key);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  // The server's side of a new connection. A client that offers protocols (ALPN) must offer
  // `protocol`, unless that is null; static storage. Throws std::bad_alloc.
  [[nodiscard]] TlsStream accept(int fd, const char* protocol) const;

  // The client's side of a new connection, whose server must show a certificate for `name`, a host
  // name or an IP address. REQUIRES: load_for_client(). Throws std::bad_alloc.
  [[nodiscard]] TlsStream connect(int fd, const std::string& name) const;

 private:
  explicit TlsContext(const ssl_method_st* method);

  // Returns what is wrong with the files, if anything is.
  [[nodiscard]] std::optional<std::string> use(const std::string& cert,
                                               const std::string& key) const;

  ssl_ctx_st* context_;
};

}  // namespace headgate::net
