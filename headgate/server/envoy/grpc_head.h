// What the header fields of a call say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/server/credentials.h"
#include "headgate/server/envoy/grpc_status.h"

namespace headgate::server {

enum class GrpcMethod : std::uint8_t { should_rate_limit, health_check, health_watch };

// Takes the fields one after the other and keeps only what they mean.
class GrpcHead {
 public:
  // As the head of a request of the HTTP door.
  static constexpr std::size_t size_max = 16 * 1024;
  static constexpr std::size_t field_overhead = 32;  // per field; RFC 9113, section 6.5.2

  // `secrets` have the token that calls must show, or none.
  void take(std::string_view name, std::string_view value, const Secrets& secrets) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Returns the status in HTTP of what is no call of gRPC, or std::nullopt.
  [[nodiscard]] std::optional<unsigned> http_fault() const noexcept;

  // Returns why the call is refused, or ok: then there is a method.
  [[nodiscard]] GrpcStatus refusal(const Secrets& secrets) const;

  [[nodiscard]] std::optional<GrpcMethod> method() const noexcept { return method_; }
  // The token that the call shows, as Secrets::knows() takes it.
  [[nodiscard]] std::uint64_t shown_token() const noexcept { return tokens_ == 1 ? token_ : 0; }
  // Whether the call shows a token that is none of the server's.
  [[nodiscard]] bool shows_wrong_token() const noexcept { return is_wrong_; }

 private:
  std::size_t size_ = 0;
  std::optional<GrpcMethod> method_;
  bool is_post_ = false;
  bool is_grpc_ = false;        // has gRPC's content type
  bool is_compressed_ = false;  // names an encoding
  bool is_wrong_ = false;       // has a wrong token
  std::uint64_t token_ = 0;     // that it has shown last
  std::uint32_t tokens_ = 0;    // fields `authorization`
};

}  // namespace headgate::server
