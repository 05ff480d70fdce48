#include "headgate/cli/gateway/certificates.h"

#include "headgate/net/tls.h"

namespace headgate::cli {

Result<void, std::string> check_certificates(const NginxPlan& plan) {
  if (plan.upstreams.front().tls) {
    const auto authorities = net::TlsContext::load_for_client(plan.authorities, "", "");
    if (!authorities) {
      return Failure<std::string>(
          "an https upstream needs the certificates that it is held against: " +
          authorities.error() +
          "; install Debian's package ca-certificates, or name them with --upstream-ca");
    }
  }
  if (!plan.tls_cert.empty()) {
    const auto own = net::TlsContext::load(plan.tls_cert, plan.tls_key, "");
    if (!own) return Failure<std::string>(own.error());
  }
  return {};
}

}  // namespace headgate::cli
