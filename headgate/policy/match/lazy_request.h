// A request and what is derived from it, each computed once and only if somebody asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headgate/policy/address/address.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// A host name as it is compared: lower case, without the dot that may end it.
void append_host(std::string_view host, std::string& out);

class LazyRequest {
 public:
  // Keeps references to all three. `host_buffer` is reused from request to request.
  LazyRequest(const Request& request, const ClientAddress& settings,
              std::string& host_buffer) noexcept
      : request_(request), settings_(settings), host_buffer_(host_buffer) {}

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name,
                                                       std::size_t nth = 0) const noexcept {
    return request_.headers->line(name, nth);
  }
  [[nodiscard]] const std::optional<Address>& client();
  [[nodiscard]] std::string_view host();

 private:
  const Request& request_;
  const ClientAddress& settings_;
  std::string& host_buffer_;
  bool has_client_ = false;
  bool has_host_ = false;
  std::optional<Address> client_;
};

}  // namespace headgate::policy
