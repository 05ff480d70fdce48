#include "headgate/net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

namespace headgate::net {
namespace {

// Takes the reason of the first error, which is the cause of the others; `other` if there is none.
std::string take_reason(const char* other) {
  const unsigned long error = ERR_peek_error();
  const char* reason = ERR_reason_error_string(error);
  if (ERR_SYSTEM_ERROR(error)) reason = std::strerror(ERR_GET_REASON(error));
  ERR_clear_error();
  return reason != nullptr ? reason : other;
}

std::string cannot(const std::string& path, std::string_view expected) {
  return path + ": " + take_reason("cannot be used") + "; expected " + std::string(expected);
}

// Returns what is wrong with a named pipe or a device: OpenSSL could wait for it or read it for
// ever. A missing file gets OpenSSL's own message.
std::optional<std::string> find_other_kind(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode)) return std::nullopt;
  return path + ": is no regular file; expected one in PEM format";
}

// The longest certificate of a client with those of its authorities [bytes], for which memory is
// taken before the client is known: about ten times the usual ones. OpenSSL's own is 100 KiB.
constexpr long chain_max = 32 * 1024;

constexpr std::string_view authorities = "certificates of authorities in PEM format";

// The key must not need a password: a server has no terminal to ask for it.
int no_password(char*, int, int, void*) { return -1; }

// Chooses the protocol that accept() has set for the connection. `offered` has each protocol of the
// client behind its length.
int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  const auto* const protocol = static_cast<const char*>(SSL_get_app_data(ssl));
  if (protocol == nullptr) return SSL_TLSEXT_ERR_NOACK;
  std::string_view rest(reinterpret_cast<const char*>(offered), offered_size);
  while (!rest.empty()) {
    const auto length = static_cast<unsigned char>(rest.front());
    if (rest.substr(1, length) == protocol) {
      *chosen = reinterpret_cast<const unsigned char*>(rest.data() + 1);
      *size = length;
      return SSL_TLSEXT_ERR_OK;
    }
    rest.remove_prefix(std::min<std::size_t>(1 + length, rest.size()));
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

TlsStream::~TlsStream() { SSL_free(ssl_); }

ssize_t TlsStream::receive(std::span<char> room) noexcept {
  std::size_t done = 0;
  ERR_clear_error();
  const int returned = SSL_read_ex(ssl_, room.data(), room.size(), &done);
  return result(returned, done);
}

ssize_t TlsStream::send(std::string_view bytes) noexcept {
  if (bytes.empty()) return 0;
  std::size_t done = 0;
  ERR_clear_error();
  const int returned = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &done);
  return result(returned, done);
}

ssize_t TlsStream::result(int returned, std::size_t done) noexcept {
  waits_to_write_ = false;
  if (returned == 1) return static_cast<ssize_t>(done);
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      waits_to_write_ = SSL_want_write(ssl_);
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    default:
      failed_ = true;
      errno = EPROTO;
      return -1;
  }
}

void TlsStream::end() noexcept {
  if (failed_ || !established()) return;  // OpenSSL forbids it
  ERR_clear_error();
  SSL_shutdown(ssl_);
}

std::string TlsStream::fault() const {
  const long verdict = SSL_get_verify_result(ssl_);
  const std::string reason = take_reason("it broke off");
  return std::string(established() ? "the connection is lost: " : "the TLS handshake failed: ") +
         (verdict == X509_V_OK ? reason : X509_verify_cert_error_string(verdict));
}

std::string connection_fault(const std::optional<TlsStream>& tls) {
  return tls ? tls->fault() : std::string("the connection is lost: ") + std::strerror(errno);
}

bool TlsStream::established() const noexcept { return SSL_is_init_finished(ssl_) != 0; }

bool TlsStream::has_more() const noexcept { return SSL_pending(ssl_) > 0; }

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

TlsContext::TlsContext(const ssl_method_st* method) : context_(SSL_CTX_new(method)) {
  if (context_ == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);  // older ones are broken (RFC 8996)
  // The rest of a message is sent from another buffer; idle connections keep no buffers.
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(context_, no_password);
}

std::optional<std::string> TlsContext::use(const std::string& cert, const std::string& key) const {
  if (auto fault = find_other_kind(cert)) return fault;
  if (auto fault = find_other_kind(key)) return fault;
  if (SSL_CTX_use_certificate_chain_file(context_, cert.c_str()) != 1) {
    return cannot(cert, "a certificate in PEM format, followed by the ones that lead to its root");
  }
  if (SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context_) != 1) {
    return cannot(key, "the private key of " + cert + " in PEM format, without a password");
  }
  return std::nullopt;
}

Result<std::shared_ptr<const TlsContext>, std::string> TlsContext::load(
    const std::string& cert, const std::string& key, const std::string& client_ca) {
  ERR_clear_error();
  const std::shared_ptr<const TlsContext> owner(new TlsContext(TLS_server_method()));
  SSL_CTX* const context = owner->context_;
  // A client cannot make us repeat the costly handshake. Clients that close without an alert, as
  // many do, have ended all the same: HTTP and RESP know where a message ends.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // One call of receive() reads one record. Otherwise a client that sends only KeyUpdate would keep
  // the thread as long as its socket has input: half a million of them fit there.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (auto fault = owner->use(cert, key)) return Failure<std::string>(*std::move(fault));
  if (!client_ca.empty()) {
    if (auto fault = find_other_kind(client_ca)) return Failure<std::string>(*std::move(fault));
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(client_ca.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(context, client_ca.c_str(), nullptr) != 1) {
      sk_X509_NAME_pop_free(names, X509_NAME_free);
      return Failure<std::string>(cannot(client_ca, authorities));
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_max_cert_list(context, chain_max);
    // A resumed session stays with the authorities that its client was checked against.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  }
  return owner;
}

Result<std::shared_ptr<const TlsContext>, std::string> TlsContext::load_for_client(
    const std::string& ca, const std::string& cert, const std::string& key) {
  ERR_clear_error();
  const std::shared_ptr<const TlsContext> owner(new TlsContext(TLS_client_method()));
  SSL_CTX* const context = owner->context_;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (auto fault = find_other_kind(ca)) return Failure<std::string>(*std::move(fault));
  const int trusts = ca.empty() ? SSL_CTX_set_default_verify_paths(context)
                                : SSL_CTX_load_verify_locations(context, ca.c_str(), nullptr);
  if (trusts != 1) return Failure<std::string>(cannot(ca, authorities));
  if (!cert.empty()) {
    if (auto fault = owner->use(cert, key)) return Failure<std::string>(*std::move(fault));
  }
  return owner;
}

TlsStream TlsContext::accept(int fd, const char* protocol) const {
  SSL* ssl = SSL_new(context_);
  if (ssl == nullptr) throw std::bad_alloc();
  TlsStream stream(ssl);
  if (SSL_set_fd(ssl, fd) != 1) throw std::bad_alloc();
  SSL_set_app_data(ssl, const_cast<char*>(protocol));
  SSL_set_accept_state(ssl);
  return stream;
}

TlsStream TlsContext::connect(int fd, const std::string& name) const {
  SSL* ssl = SSL_new(context_);
  if (ssl == nullptr) throw std::bad_alloc();
  TlsStream stream(ssl);
  if (SSL_set_fd(ssl, fd) != 1) throw std::bad_alloc();
  // An address is compared as one, and is not sent: SNI has names only (RFC 6066, section 3).
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) != 1) {
    if (SSL_set1_host(ssl, name.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) {
      throw std::bad_alloc();
    }
  }
  ERR_clear_error();
  SSL_set_connect_state(ssl);
  return stream;
}

}  // namespace headgate::net
