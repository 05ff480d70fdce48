#include "headgate/server/envoy/grpc_message.h"

#include <algorithm>
#include <utility>

namespace headgate::server {

GrpcStatus GrpcMessage::take(std::string_view bytes) {
  while (prefix_size_ < prefix_bytes && !bytes.empty()) {
    prefix_[prefix_size_++] = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (prefix_size_ < prefix_bytes) continue;
    if (GrpcStatus fault = read_prefix(); !fault.ok()) return fault;
  }
  if (body_.size() + bytes.size() > size_) {
    return {GrpcCode::unimplemented, "expected one message, found bytes behind it"};
  }
  body_.append(bytes);
  return {};
}

GrpcStatus GrpcMessage::read_prefix() {
  size_ = 0;
  for (std::size_t i = 1; i < prefix_bytes; ++i) size_ = size_ << 8 | prefix_[i];
  if (size_ > size_max) {
    return {GrpcCode::resource_exhausted, "the message has " + std::to_string(size_) +
                                              " bytes, expected at most " +
                                              std::to_string(size_max)};
  }
  // Without a field grpc-encoding, which the head would have refused.
  if (prefix_[0] != 0) {
    return {GrpcCode::internal,
            "the message is marked as compressed, but there is no grpc-encoding"};
  }
  return {};
}

GrpcStatus GrpcMessage::end() const {
  if (prefix_size_ == 0) return {GrpcCode::unimplemented, "expected one message, found none"};
  if (prefix_size_ < prefix_bytes || body_.size() < size_) {
    return {GrpcCode::internal,
            "the message ends after " + std::to_string(prefix_size_ + body_.size()) + " bytes"};
  }
  return {};
}

void GrpcMessage::clear() noexcept { Http2String(body_.get_allocator()).swap(body_); }

}  // namespace headgate::server
