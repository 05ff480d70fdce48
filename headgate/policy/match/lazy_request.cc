#include "headgate/policy/match/lazy_request.h"

#include "headgate/base/ascii.h"
#include "headgate/policy/text.h"

namespace headgate::policy {

void append_host(std::string_view host, std::string& out) {
  if (!is_host(host)) {
    out.append(malformed_host);
    return;
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  for (const char c : host) out.push_back(lower(c));
}

const Client& LazyRequest::client() {
  if (!client_) client_ = find_client(request_, settings_);
  return *client_;
}

std::string_view LazyRequest::host() {
  if (!has_host_) {
    host_buffer_.clear();
    append_host(request_.host, host_buffer_);
    has_host_ = true;
  }
  return host_buffer_;
}

}  // namespace headgate::policy
