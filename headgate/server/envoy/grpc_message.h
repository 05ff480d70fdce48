// Reads the one message of a call from its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headgate/server/envoy/grpc_status.h"
#include "headgate/server/envoy/http2_memory.h"

namespace headgate::server {

// gRPC's framing: a byte that is 1 if the message is compressed, its length in four bytes, and the
// message. All methods here take exactly one message.
class GrpcMessage {
 public:
  static constexpr std::size_t prefix_bytes = 5;
  static constexpr std::size_t size_max = 64 * 1024;  // as a body of the HTTP door

  explicit GrpcMessage(Http2Memory& memory) noexcept : body_(Http2Allocator<char>(memory)) {}

  // Takes the next bytes. A status that is not ok ends the call; take() is not called again. Throws
  // std::bad_alloc.
  [[nodiscard]] GrpcStatus take(std::string_view bytes);

  // Called when there are no more bytes. Returns a status that is not ok if the message is missing
  // or not whole.
  [[nodiscard]] GrpcStatus end() const;

  // The message, after end() has returned ok.
  [[nodiscard]] std::string_view body() const noexcept { return body_; }

  // Frees its memory.
  void clear() noexcept;

 private:
  [[nodiscard]] GrpcStatus read_prefix();

  std::array<unsigned char, prefix_bytes> prefix_{};
  std::size_t prefix_size_ = 0;  // how much of it has arrived
  std::size_t size_ = 0;         // of the message, once the prefix has arrived
  Http2String body_;
};

}  // namespace headgate::server
