// How a call of gRPC ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::server {

// gRPC's numbers.
enum class GrpcCode : std::uint8_t {
  ok = 0,
  invalid_argument = 3,
  not_found = 5,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};

struct GrpcStatus {
  GrpcCode code = GrpcCode::ok;
  std::string what{};  // for people; empty if ok

  [[nodiscard]] bool ok() const noexcept { return code == GrpcCode::ok; }
};

// Returns the text as the field grpc-message has it: all bytes but printable ASCII as %XX, and %.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace headgate::server
