// Writes the frames that an agent sends to HAProxy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/net/spoe_data.h"
#include "headgate/net/spoe_frame.h"

namespace headgate::net {

// Appends frames to a text of the caller, which must outlive the writer. All functions may throw
// std::bad_alloc. Not thread-safe.
class SpoeWriter {
 public:
  // `frame_max`: of the frames, without the four bytes of their length; at least spoe_frame_min.
  SpoeWriter(std::string& out, std::uint32_t frame_max) noexcept
      : out_(out), frame_max_(frame_max) {}

  // AGENT-HELLO of version 2.0, which announces that fragments may be sent and, if so, pipelining.
  void hello(std::uint32_t frame_max, bool pipelining);
  // AGENT-DISCONNECT.
  void disconnect(const SpoeFault& fault);

  // An ACK: begin_ack(), any actions, end_ack().
  void begin_ack(std::uint64_t stream_id, std::uint64_t frame_id) {
    begin(SpoeFrameType::ack, stream_id, frame_id);
  }
  void end_ack() { end(); }
  // Variables of the transaction. Return false, and write nothing, if the frame has no room left.
  bool set_variable(std::string_view name, const SpoeValue& value);
  bool set_variable(std::string_view name, std::string_view text) {
    return set_variable(name, {SpoeType::string, 0, text});
  }
  bool set_variable(std::string_view name, std::uint64_t number) {
    return set_variable(name, {SpoeType::uint64, number, {}});
  }
  bool unset_variable(std::string_view name);

 private:
  void begin(SpoeFrameType type, std::uint64_t stream_id, std::uint64_t frame_id);
  void end();
  void item(std::string_view name, const SpoeValue& value);
  bool keep_if_it_fits(std::size_t from);

  std::string& out_;
  const std::uint32_t frame_max_;
  std::size_t begin_ = 0;  // of the frame, behind its length
};

}  // namespace headgate::net
