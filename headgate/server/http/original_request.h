// The request that a proxy asks about through forward-auth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/policy/address/address.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::server {

// What could not be known of the request, and what was taken instead.
enum class Guess : std::uint8_t {
  none,
  no_uri,     // no URI was named: "/" was judged
  malformed,  // the URI was one that nginx would refuse: its path was judged as it stands
};

// The original request, out of the question's fields:
//
//   method   X-Forwarded-Method or X-Original-Method, or the question's own
//   URI      X-Forwarded-Uri, X-Original-URI or X-Original-URL
//   host     X-Forwarded-Host, X-Original-Host, the host of X-Original-URL, or Host
//   peer     the last element of X-Forwarded-For, X-Real-IP, or who asks
//
// Everything else, the client's own fields above all, is the question's. Whatever a proxy does not
// set, its client may have sent: so where two of these fields are there and differ, nothing is
// believed. For the method, the URI and the host that is an error. X-Real-IP may name the peer or
// the client that the peer speaks for; if it names another, the peer is who asks, and the clients
// that try this share what that one has.
class OriginalRequest final : public policy::Headers {
 public:
  struct Question {
    const policy::Headers& fields;
    std::string_view method;
    std::optional<policy::Address> peer;  // who asks; std::nullopt: through a Unix socket
    bool authorised_by_field = false;     // its Authorization is for this server
  };

  // The fields and `buffer` outlive this. Errors: a sentence.
  [[nodiscard]] static Result<OriginalRequest, std::string> read(
      const Question& question, const policy::ClientAddress& settings, std::string& buffer);

  // Views of this, the question and the buffer.
  [[nodiscard]] policy::Request request() const noexcept;
  [[nodiscard]] Guess guess() const noexcept { return guess_; }

  // policy::Headers: those that the peer sent.
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override;

 private:
  explicit OriginalRequest(const Question& question) noexcept
      : question_(&question.fields),
        method_(question.method),
        hides_authorization_(question.authorised_by_field) {}

  class Fact;

  [[nodiscard]] std::optional<std::string> read_names(std::string& buffer);
  void read_peer(const std::optional<policy::Address>& asker,
                 const policy::ClientAddress& settings) noexcept;

  const policy::Headers* question_;
  std::string_view method_;
  std::string_view host_;
  std::string_view path_ = "/";
  std::string_view query_;
  std::optional<policy::Address> peer_;
  Guess guess_ = Guess::none;
  bool hides_authorization_ = false;
  bool hides_hops_ = false;  // nothing that is said of them is believed

  // Lines of X-Forwarded-For without the peer, where it was the last element, and their last one.
  std::optional<std::size_t> hop_lines_;
  std::string_view last_hops_;
};

}  // namespace headgate::server
