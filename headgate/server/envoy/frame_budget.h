// How many frames of HTTP/2 a client may send for nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace headgate::server {

// Frames take work and bring no request: pings, settings, resets, windows, frames of unknown types
// or without content, calls that are refused or never end. A client may send so many of them at
// once and per second, and some for each call that was answered. A KiB counts as one frame more,
// whatever is in it; but what a caller with the token sends as messages costs nothing.
class FrameBudget {
 public:
  // Four for each call that may be open at once: heads and messages may come before the first
  // answer.
  static constexpr std::uint32_t most = 4096;
  // A ping every 10 ms would be far more than any client's.
  static constexpr std::uint32_t per_second = 100;
  // The longest head and the longest message in frames of one KiB. Usual calls have two frames, a
  // window update for the answer, and perhaps a reset.
  static constexpr std::uint32_t per_call = 160;

  // Times are in seconds, from any beginning.
  explicit FrameBudget(std::uint64_t now) noexcept : since_(now) {}

  // Counts one frame; `now` never goes back. Returns false if it was one too many.
  [[nodiscard]] bool take_frame(std::uint64_t now) noexcept { return take(frame, now); }
  // Counts received bytes.
  [[nodiscard]] bool take_bytes(std::size_t bytes, std::uint64_t now) noexcept {
    return take(bytes, now);
  }
  // Gives back what take_bytes() has taken for bytes of such a message, and a frame for each KiB of
  // it. Long messages come together and are answered late, so that answered() alone is too late.
  void give_back_message(std::size_t bytes) noexcept { add(2 * bytes); }

  void answered() noexcept { add(per_call * frame); }

 private:
  static constexpr std::uint64_t frame = 1024;  // [bytes]

  bool take(std::uint64_t bytes, std::uint64_t now) noexcept {
    if (now != since_) {
      add(std::min<std::uint64_t>(now - since_, most) * per_second * frame);
      since_ = now;
    }
    if (left_ < bytes) return false;
    left_ -= bytes;
    return true;
  }

  void add(std::uint64_t bytes) noexcept { left_ = std::min(left_ + bytes, most * frame); }

  std::uint64_t left_ = most * frame;  // [bytes]
  std::uint64_t since_;
};

}  // namespace headgate::server
