#include "headgate/policy/match/lazy_request.h"

namespace headgate::policy {

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
