// A request with its client's address, normalised host name and folded path, which are computed on
// first use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headgate/policy/address/client_address.h"
#include "headgate/policy/match/folded_headers.h"
#include "headgate/policy/match/glob.h"
#include "headgate/policy/match/host.h"
#include "headgate/policy/match/path.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

class LazyRequest {
 public:
  // Keeps references to all arguments. The last three hold what host(), path() and
  // any_value() have computed; reuse them for the next request.
  LazyRequest(const Request& request, const ClientAddress& settings, std::string& host_buffer,
              std::string& path_buffer, FoldedHeaders& headers) noexcept
      : request_(request),
        settings_(settings),
        host_buffer_(host_buffer),
        path_(request.path, path_buffer),
        headers_(headers) {}
  ~LazyRequest() { headers_.clear(); }
  LazyRequest(const LazyRequest&) = delete;
  LazyRequest& operator=(const LazyRequest&) = delete;

  [[nodiscard]] const Request& raw() const noexcept { return request_; }
  [[nodiscard]] const Client& client();
  // Makes client() return this one.
  void assume(const Client& client) noexcept { client_ = client; }
  [[nodiscard]] std::string_view host();
  // Whether the host is malformed: which one an upstream reads in it is not known.
  [[nodiscard]] bool may_be_any_host() { return host() == malformed_host; }
  // Whether all upstreams read host() in the request. In another notation of an address, such as
  // "127.1", some read a name.
  [[nodiscard]] bool host_is_certain() {
    return !may_be_any_host() && is_same_text(request_.host, host());
  }
  [[nodiscard]] FoldedPath& path() noexcept { return path_; }
  // Whether a value of the header matches (FoldedHeaders).
  [[nodiscard]] bool any_value(std::string_view name, const Glob& pattern) {
    return headers_.any(*request_.headers, name,
                        [&](std::string_view value) { return pattern.matches(value); });
  }

 private:
  const Request& request_;
  const ClientAddress& settings_;
  std::string& host_buffer_;
  FoldedPath path_;
  FoldedHeaders& headers_;
  bool has_host_ = false;
  std::optional<Client> client_;
};

}  // namespace headgate::policy
