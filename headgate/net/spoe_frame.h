// Frames of HAProxy's Stream Processing Offload Protocol, and how it names errors.
#pragma once

#include <cstdint>
#include <string_view>

namespace headgate::net {

enum class SpoeFrameType : std::uint8_t {
  unset = 0,  // a further fragment
  haproxy_hello = 1,
  haproxy_disconnect = 2,
  notify = 3,
  agent_hello = 101,
  agent_disconnect = 102,
  ack = 103,
};

// The protocol's status codes, in DISCONNECT frames.
enum class SpoeStatus : std::uint8_t {
  normal = 0,
  too_big = 3,
  invalid = 4,
  no_version = 5,
  no_frame_size = 6,
  no_capabilities = 7,
  bad_version = 8,
  bad_frame_size = 9,
  no_fragments = 10,
  interlaced = 11,
  unknown_frame_id = 12,
  resource = 13,
};

// What ends a connection. `what` is static text, short enough for a DISCONNECT frame (255 bytes).
struct SpoeFault {
  SpoeStatus status = SpoeStatus::normal;
  std::string_view what = "normal";
};

struct SpoeFrame {
  static constexpr std::uint32_t fin = 1;    // the last fragment, or not fragmented
  static constexpr std::uint32_t abort = 2;  // the fragments so far are to be forgotten

  SpoeFrameType type = SpoeFrameType::unset;
  std::uint32_t flags = fin;
  std::uint64_t stream_id = 0;
  std::uint64_t frame_id = 0;
  std::string_view payload{};

  [[nodiscard]] bool is_final() const noexcept { return (flags & fin) != 0; }
  [[nodiscard]] bool is_aborted() const noexcept { return (flags & abort) != 0; }
  [[nodiscard]] bool is_same_as(const SpoeFrame& other) const noexcept {
    return stream_id == other.stream_id && frame_id == other.frame_id;
  }
};

// Both sides must take frames of this size [bytes], without the four bytes of their length.
inline constexpr std::uint32_t spoe_frame_min = 256;

}  // namespace headgate::net
