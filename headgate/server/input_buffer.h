// What a connection has received and is not done with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace headgate::server {

// A connection that waits for nothing has no memory of its own: it receives into memory that all
// connections of a thread share. What is left over, the beginning of a request, is kept, and what
// follows is received behind it.
class InputBuffer {
 public:
  // Where to receive to.
  [[nodiscard]] std::span<char> room(std::span<char> shared) {
    if (size_ == 0) return shared;
    if (capacity_ - size_ < room_min) grow(std::max(2 * capacity_, size_ + room_min));
    return {own_.get() + size_, capacity_ - size_};
  }

  // All that there is, now that `more` bytes were received into room(shared).
  [[nodiscard]] std::string_view received(std::size_t more, std::span<char> shared) {
    if (size_ == 0) return {shared.data(), more};
    size_ += more;
    return pending();
  }

  // What was kept.
  [[nodiscard]] std::string_view pending() const noexcept { return {own_.get(), size_}; }

  // Keeps the end of what there is; nothing else is needed any more.
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
  static constexpr std::size_t room_min = 4096;

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
