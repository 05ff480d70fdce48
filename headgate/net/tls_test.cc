#include "headgate/net/tls.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

namespace headgate::net {
namespace {

// Writes a key and a certificate that it has signed itself.
void make_certificate(const std::string& cert, const std::string& key) {
  EVP_PKEY* const pair = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, pair);
  X509_sign(certificate, pair, EVP_sha256());
  std::FILE* file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  file = std::fopen(cert.c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(pair);
}

// A client and a server at the ends of a pair of sockets.
class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    const std::string prefix = ::testing::TempDir() + "tls_" + std::to_string(getpid());
    make_certificate(prefix + ".crt", prefix + ".key");
    context_ = TlsContext::load(prefix + ".crt", prefix + ".key", "").value();
    std::filesystem::remove(prefix + ".crt");
    std::filesystem::remove(prefix + ".key");
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0);
    client_context_ = SSL_CTX_new(TLS_client_method());
    client_ = SSL_new(client_context_);
    SSL_set_fd(client_, ends_[0]);
    SSL_set_connect_state(client_);
  }
  ~TlsTest() override {
    SSL_free(client_);
    SSL_CTX_free(client_context_);
    close(ends_[0]);
    close(ends_[1]);
  }

  void shake_hands(TlsStream& server) {
    char byte;
    while (SSL_do_handshake(client_) != 1 || !server.established()) {
      ASSERT_EQ(server.receive({&byte, 1}), -1);
      ASSERT_EQ(errno, EAGAIN);
    }
  }

  std::shared_ptr<const TlsContext> context_;
  int ends_[2];
  SSL_CTX* client_context_;
  SSL* client_;
};

TEST_F(TlsTest, OneCallReadsOneRecord) {
  TlsStream server = context_->accept(ends_[1], nullptr);
  shake_hands(server);
  constexpr int updates = 100;
  for (int i = 0; i < updates; ++i) {
    ASSERT_EQ(SSL_key_update(client_, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client_), 1);
  }
  ASSERT_EQ(SSL_write(client_, "x", 1), 1);
  char byte = '\0';
  int calls = 0;
  while (server.receive({&byte, 1}) < 0) {
    ASSERT_EQ(errno, EAGAIN);
    ASSERT_FALSE(server.waits_to_write());
    ++calls;
  }
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(calls, updates);
}

}  // namespace
}  // namespace headgate::net
