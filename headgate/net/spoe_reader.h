// Reads the frames that HAProxy sends to an agent, and joins fragments. No I/O: bytes in, frames
// out.
//
//   while ((found = reader.read(bytes)) == SpoeReader::Found::frame) {
//     answer(reader.frame());
//     bytes.remove_prefix(reader.used());
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/net/spoe_frame.h"

namespace headgate::net {

// One per connection. Has memory of its own only while fragments are read. Not thread-safe.
class SpoeReader {
 public:
  // The most bytes of one frame that are taken: four times what HAProxy sends by default (its
  // buffer of 16 KiB).
  static constexpr std::uint32_t frame_most = std::uint32_t{64} << 10;
  // The same before the handshake, whose frame has less than 256.
  static constexpr std::uint32_t hello_most = std::uint32_t{4} << 10;
  // The most bytes of the fragments of one frame. A request's header section fits into one buffer
  // of HAProxy, and no argument of a message is longer, so this is enough for four of them.
  static constexpr std::size_t fragments_most = std::size_t{64} << 10;

  enum class Found : std::uint8_t {
    more,      // no whole frame; used() bytes were fragments and frames of unknown types
    frame,     // frame() and used() are set
    too_long,  // frame() had more than fragments_most, and its payload is only the beginning
    fault,     // fault() is set; the rest of the stream cannot be read
  };

  // Reads up to the end of the first whole frame. `bytes` begin where the last call ended. May
  // throw std::bad_alloc.
  [[nodiscard]] Found read(std::string_view bytes);

  // Its payload is valid until the next read(): a view of `bytes`, or of the reader.
  [[nodiscard]] const SpoeFrame& frame() const noexcept { return frame_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  [[nodiscard]] const SpoeFault& fault() const noexcept { return fault_; }

  // To be called after the handshake. From then on frames have at most this size, and may be
  // fragmented.
  void greet(std::uint32_t frame_max) noexcept {
    frame_max_ = frame_max;
    greeted_ = true;
  }

  // Whether further fragments are to come.
  [[nodiscard]] bool is_joining() const noexcept { return state_ == State::joining; }

 private:
  enum class State : std::uint8_t {
    whole,    // the next frame begins a payload
    joining,  // ... is a fragment of first_
    skipping  // ... is a fragment of first_, which is too long
  };

  [[nodiscard]] Found read_one(std::string_view bytes);
  [[nodiscard]] Found begin();
  [[nodiscard]] Found join();
  [[nodiscard]] Found fail(SpoeStatus status, std::string_view what) noexcept;
  void forget() noexcept;

  std::uint32_t frame_max_ = hello_most;
  bool greeted_ = false;
  State state_ = State::whole;
  SpoeFrame frame_;
  SpoeFrame first_;     // of the fragments
  std::string joined_;  // the beginning of their payloads, or all
  std::size_t used_ = 0;
  SpoeFault fault_;
};

}  // namespace headgate::net
