// The files with which a server's TCP listeners speak TLS.
#pragma once

#include <string>

namespace headgate::server {

// Paths of PEM files. Either both `cert` and `key` are set, or all three are empty: no TLS.
struct TlsFiles {
  std::string cert;       // the certificate, followed by those between it and its root
  std::string key;        // its private key
  std::string client_ca;  // if set, clients must have a certificate of one of these authorities

  [[nodiscard]] bool used() const noexcept { return !cert.empty(); }
};

}  // namespace headgate::server
