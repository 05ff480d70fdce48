// A request with its client's address and normalised host name, both computed on first use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headgate/policy/address/address.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// Appends a host name in the form in which names are compared: lower case, without a final dot.
void append_host(std::string_view host, std::string& out);

class LazyRequest {
 public:
  // Keeps references to all three arguments. `host_buffer` holds the result of host(); reuse it for
  // the next request.
  LazyRequest(const Request& request, const ClientAddress& settings,
              std::string& host_buffer) noexcept
      : request_(request), settings_(settings), host_buffer_(host_buffer) {}

  [[nodiscard]] const Request& raw() const noexcept { return request_; }
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
