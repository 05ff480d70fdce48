#include "headgate/server/http/original_request.h"

#include <algorithm>
#include <initializer_list>

#include "headgate/base/ascii.h"
#include "headgate/policy/address/client_address.h"
#include "headgate/policy/match/request_target.h"
#include "headgate/policy/text.h"

namespace headgate::server {
namespace {

// An absolute URI is split into its authority and the rest; another URI is only a rest.
struct Uri {
  std::optional<std::string_view> authority;
  std::string_view rest;
};

Uri split(std::string_view uri) noexcept {
  const std::size_t scheme = uri.find("://");
  if (uri.starts_with('/') || scheme == std::string_view::npos) return {std::nullopt, uri};
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(uri.find_first_of("/?#", begin), uri.size());
  return {uri.substr(begin, end - begin), uri.substr(end)};
}

}  // namespace

// A fact that several fields may state; they contradict each other if they differ.
class OriginalRequest::Fact {
 public:
  using Same = bool (*)(std::string_view, std::string_view);

  explicit Fact(Same same = [](std::string_view a, std::string_view b) { return a == b; }) noexcept
      : same_(same) {}

  void state(std::string_view value) noexcept {
    if (value_ && !same_(*value_, value)) contradicts_ = true;
    value_ = value;
  }
  [[nodiscard]] const std::optional<std::string_view>& value() const noexcept { return value_; }
  [[nodiscard]] bool contradicts() const noexcept { return contradicts_; }

 private:
  Same same_;
  std::optional<std::string_view> value_;
  bool contradicts_ = false;
};

Result<OriginalRequest, std::string> OriginalRequest::read(const AuthRequest& auth,
                                                           const policy::ClientAddress& settings) {
  OriginalRequest original(auth);
  if (auto error = original.read_names()) return Failure<std::string>(*std::move(error));
  original.read_peer(auth.peer, settings);
  return original;
}

std::optional<std::string> OriginalRequest::read_names() {
  const auto each = [this](std::initializer_list<std::string_view> names, auto see) {
    for (const std::string_view name : names) {
      for (std::size_t nth = 0; const auto value = auth_fields_->line(name, nth); ++nth) {
        see(*value);
      }
    }
  };
  Fact method;
  each({"x-forwarded-method", "x-original-method"}, [&](auto value) { method.state(value); });
  if (method.contradicts()) {
    return "X-Forwarded-Method and X-Original-Method name different methods";
  }
  if (method.value()) method_ = *method.value();

  Fact uri;
  Fact host(equal_ignoring_case);
  each({"x-forwarded-uri", "x-original-uri", "x-original-url"}, [&](auto value) {
    const Uri parts = split(value);
    uri.state(parts.rest.empty() ? "/" : parts.rest);
    if (parts.authority) host.state(policy::without_port(*parts.authority));
  });
  if (uri.contradicts()) {
    return "X-Forwarded-Uri, X-Original-URI and X-Original-URL name different URIs";
  }
  each({"x-forwarded-host", "x-original-host"},
       [&](auto value) { host.state(policy::without_port(value)); });
  if (host.contradicts()) {
    return "X-Forwarded-Host, X-Original-Host and X-Original-URL name different hosts";
  }
  if (!host.value()) each({"host"}, [&](auto value) { host.state(policy::without_port(value)); });
  host_ = host.value().value_or("");

  if (!uri.value()) {
    guess_ = Guess::no_uri;
  } else if (const auto target = policy::read_request_target(*uri.value())) {
    if (!target->well_formed) guess_ = Guess::malformed;
    path_ = target->path;
    query_ = target->query;
  } else {
    guess_ = Guess::malformed;
    const policy::PathAndQuery parts = policy::split_path_and_query(*uri.value());
    path_ = parts.path;
    query_ = parts.query;
  }
  return std::nullopt;
}

// The sender is a proxy, and the hop before it is the request's peer. Which earlier hops are
// trusted is a setting of the policy file.
void OriginalRequest::read_peer(const std::optional<policy::Address>& sender,
                                const policy::ClientAddress& settings) noexcept {
  peer_ = sender;
  std::size_t lines = 0;
  std::string_view last;
  while (const auto line = auth_fields_->line("x-forwarded-for", lines)) {
    last = *line;
    ++lines;
  }
  while (last.ends_with(',')) last = trimmed(last.substr(0, last.size() - 1));
  const std::size_t comma = last.rfind(',');
  const bool alone = comma == std::string_view::npos;
  const std::string_view nearest = trimmed(alone ? last : last.substr(comma + 1));
  const auto real = auth_fields_->line("x-real-ip", 0);
  const std::string_view node = nearest.empty() ? real.value_or("") : nearest;
  const std::optional<policy::Address> address = policy::node_address(node);
  if (!address && node != "unix:") {  // the sender did not state it
    peer_is_certain_ = node.empty();
    return;
  }
  peer_ = address;
  if (nearest.empty()) return;

  last_hops_ = alone ? "" : trimmed(last.substr(0, comma));
  hop_lines_ = last_hops_.empty() ? lines - 1 : lines;
  if (!real) return;
  const std::optional<policy::Address> real_address = policy::node_address(*real);
  const std::optional<policy::Address> client = policy::client_of(request(), settings);
  if (real_address == peer_ || real_address == client) return;
  claimed_ = {client, real_address};
  peer_ = sender;
  peer_is_certain_ = false;
  hides_hops_ = true;
}

policy::Request OriginalRequest::request() const noexcept {
  policy::Request request;
  request.method = method_;
  request.host = host_;
  request.path = path_;
  request.query = query_;
  request.peer = peer_;
  request.peer_is_certain = peer_is_certain_;
  request.claimed = claimed_;
  request.headers = this;
  return request;
}

std::optional<std::string_view> OriginalRequest::line(std::string_view name,
                                                      std::size_t nth) const noexcept {
  if (name == "x-forwarded-for") {
    if (hides_hops_) return std::nullopt;
    if (hop_lines_) {
      if (nth >= *hop_lines_) return std::nullopt;
      if (nth + 1 == *hop_lines_ && !last_hops_.empty()) return last_hops_;
    }
  }
  if (name == "forwarded" && hides_hops_) return std::nullopt;
  if (name == "authorization" && hides_authorization_) return std::nullopt;
  if (name == "host") return nth == 0 && !host_.empty() ? std::optional(host_) : std::nullopt;
  return auth_fields_->line(name, nth);
}

}  // namespace headgate::server
