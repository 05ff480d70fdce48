// The input of a connection that was received and is still needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

namespace headgate::server {

// A connection without a pending request has no memory of its own: it receives into memory that all
// connections of a thread share. The beginning of a request that has not arrived completely is kept
// in own memory, and the following bytes are received behind it.
class InputBuffer {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  // Returns where to receive to: `shared`, or at least room_min bytes of own memory. While less
  // than `most` bytes are kept, only so much of it that there will be no more.
  [[nodiscard]] std::span<char> room(std::span<char> shared, std::size_t most = unlimited) {
    std::span<char> room = shared;
    if (size_ > 0) {
      if (capacity_ - size_ < room_min) grow(std::max(2 * capacity_, size_ + room_min));
      room = {own_.get() + size_, capacity_ - size_};
    }
    return size_ < most ? room.first(std::min(room.size(), most - size_)) : room;
  }

  // Returns all bytes that are kept or new, after `more` bytes were received into room(shared).
  [[nodiscard]] std::string_view received(std::size_t more, std::span<char> shared) {
    if (size_ == 0) return {shared.data(), more};
    size_ += more;
    return pending();
  }

  // Returns the bytes that were kept.
  [[nodiscard]] std::string_view pending() const noexcept { return {own_.get(), size_}; }

  // Keeps `rest`, the end of what received() or pending() returned, and forgets the bytes before
  // it.
  void keep(std::string_view rest) {
    if (rest.empty()) {
      own_.reset();
      size_ = capacity_ = 0;
      return;
    }
    if (size_ == 0) grow(rest.size());
    if (rest.data() != own_.get()) std::memmove(own_.get(), rest.data(), rest.size());
    size_ = rest.size();
  }

 private:
  static constexpr std::size_t room_min = 4096;  // a page: more than most requests

  void grow(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(larger.get(), own_.get(), size_);
    own_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> own_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace headgate::server
