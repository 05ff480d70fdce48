// The request that a proxy describes in a forward-auth request.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/policy/address/address.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::server {

// What the fields did not say about the original request, and what was used instead.
enum class Guess : std::uint8_t {
  none,
  no_uri,     // there is no URI: "/" was used
  malformed,  // nginx would refuse the URI: it was used as it is
};

// The original request, read from the fields of the auth request:
//
//   method   X-Forwarded-Method or X-Original-Method, or that of the auth request
//   URI      X-Forwarded-Uri, X-Original-URI or X-Original-URL
//   host     X-Forwarded-Host, X-Original-Host, the host of X-Original-URL, or Host
//   peer     the last element of X-Forwarded-For, X-Real-IP, or the sender of the auth request
//
// All other fields are those of the auth request, the client's own fields above all. A field that
// the proxy does not set may come from its client. So if two of these fields are present and
// differ, neither is trusted. For the method, the URI and the host that is an error. X-Real-IP may
// name the peer or the client that the peer forwards for; if it names another address, the peer is
// the sender of the auth request, and all clients that try this share that peer's quota. Policies
// for the addresses that they name hold all the same.
class OriginalRequest final : public policy::Headers {
 public:
  struct AuthRequest {
    const policy::Headers& fields;
    std::string_view method;
    std::optional<policy::Address> peer;  // its sender; std::nullopt: a Unix socket
    bool authorised_by_field = false;     // its Authorization is for this server
  };

  // The fields outlive this. Errors: a sentence.
  [[nodiscard]] static Result<OriginalRequest, std::string> read(
      const AuthRequest& auth, const policy::ClientAddress& settings);

  // Consists of views of this and of the auth request.
  [[nodiscard]] policy::Request request() const noexcept;
  [[nodiscard]] Guess guess() const noexcept { return guess_; }

  // policy::Headers: the fields that the peer sent.
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override;

 private:
  explicit OriginalRequest(const AuthRequest& auth) noexcept
      : auth_fields_(&auth.fields),
        method_(auth.method),
        hides_authorization_(auth.authorised_by_field) {}

  class Fact;

  [[nodiscard]] std::optional<std::string> read_names();
  void read_peer(const std::optional<policy::Address>& sender,
                 const policy::ClientAddress& settings) noexcept;

  const policy::Headers* auth_fields_;
  std::string_view method_;
  std::string_view host_;
  std::string_view path_ = "/";
  std::string_view query_;
  std::optional<policy::Address> peer_;
  Guess guess_ = Guess::none;
  bool hides_authorization_ = false;
  bool hides_hops_ = false;  // the fields about them are not trusted
  bool peer_is_certain_ = true;
  std::array<std::optional<policy::Address>, 2> claimed_;  // if the fields are not trusted

  // If the peer was the last element of X-Forwarded-For: the number of lines without it, and the
  // last one of them.
  std::optional<std::size_t> hop_lines_;
  std::string_view last_hops_;
};

}  // namespace headgate::server
