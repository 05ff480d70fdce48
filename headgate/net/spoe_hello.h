// The handshake of HAProxy's Stream Processing Offload Protocol.
#pragma once

#include <cstdint>

#include "headgate/base/result.h"
#include "headgate/net/spoe_frame.h"

namespace headgate::net {

// What HAProxy's HELLO states, as far as an agent of version 2.0 needs it.
struct SpoeHello {
  std::uint32_t frame_max = 0;  // [bytes], at least spoe_frame_min
  bool pipelining = false;      // further NOTIFY frames may come before the ACK of one
  bool healthcheck = false;     // the connection ends after the answer

  // Reads the first frame of a connection. Items that are not known are skipped.
  [[nodiscard]] static Result<SpoeHello, SpoeFault> read(const SpoeFrame& frame) noexcept;
};

}  // namespace headgate::net
