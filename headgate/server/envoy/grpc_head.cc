#include "headgate/server/envoy/grpc_head.h"

#include <array>
#include <utility>

#include "headgate/net/bearer.h"

namespace headgate::server {
namespace {

using Path = std::pair<std::string_view, GrpcMethod>;
constexpr std::array paths = {
    Path{"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
         GrpcMethod::should_rate_limit},
    Path{"/grpc.health.v1.Health/Check", GrpcMethod::health_check},
    Path{"/grpc.health.v1.Health/Watch", GrpcMethod::health_watch},
};

std::optional<GrpcMethod> method_at(std::string_view path) noexcept {
  for (const auto& [known, method] : paths) {
    if (path == known) return method;
  }
  return std::nullopt;
}

bool is_grpc_type(std::string_view type) noexcept {
  constexpr std::string_view grpc = "application/grpc";
  if (!type.starts_with(grpc)) return false;
  type.remove_prefix(grpc.size());
  if (type.starts_with("+proto")) type.remove_prefix(6);
  return type.empty() || type.front() == ';';
}

}  // namespace

void GrpcHead::take(std::string_view name, std::string_view value,
                    const Secrets& secrets) noexcept {
  size_ += name.size() + value.size() + field_overhead;
  if (name == ":method") {
    is_post_ = value == "POST";
  } else if (name == ":path") {
    method_ = method_at(value);
  } else if (name == "content-type") {
    is_grpc_ = is_grpc_type(value);
  } else if (name == "grpc-encoding") {
    is_compressed_ = is_compressed_ || value != "identity";
  } else if (name == "authorization") {
    ++tokens_;
    const auto token = net::bearer_token(value);
    const Access access = token ? secrets.access_of(*token) : Access::none;
    is_wrong_ = is_wrong_ || (token && access == Access::none);
    token_ = secrets.number_of(access);
  }
}

std::optional<unsigned> GrpcHead::http_fault() const noexcept {
  if (size_ > size_max) return std::nullopt;  // not all of it was read
  if (!is_post_) return 405;
  if (!is_grpc_) return 415;
  return std::nullopt;
}

GrpcStatus GrpcHead::refusal(const Secrets& secrets) const {
  if (!method_) return {GrpcCode::unimplemented, "there is no such method"};
  if (is_compressed_) {
    return {GrpcCode::unimplemented, "expected messages that are not compressed"};
  }
  if (*method_ == GrpcMethod::should_rate_limit && !secrets.knows(shown_token())) {
    return {GrpcCode::unauthenticated,
            "expected authorization: Bearer TOKEN, with this server's token"};
  }
  if (size_ > size_max) {
    return {GrpcCode::resource_exhausted,
            "expected at most " + std::to_string(size_max) + " bytes of metadata"};
  }
  return {};
}

}  // namespace headgate::server
