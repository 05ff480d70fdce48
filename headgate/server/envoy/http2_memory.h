// The memory of HTTP/2 connections, counted so that it is bounded whatever clients send.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <string>

namespace headgate::server {

// What the connections of one door have in common. One thread.
class Http2MemoryPool {
 public:
  // `shared_max`: what all connections together may have beyond Http2Memory::own each.
  explicit Http2MemoryPool(std::size_t shared_max) noexcept : shared_max_(shared_max) {}

 private:
  friend class Http2Memory;

  const std::size_t shared_max_;
  std::size_t shared_ = 0;  // what they have beyond it [bytes]
};

// The memory of one connection. Not thread-safe.
class Http2Memory {
 public:
  // What a connection may have whatever others use. A new one takes about 22 KiB, most of it the
  // buffer in which nghttp2 makes frames; usual calls take less than 1 KiB while they are answered.
  static constexpr std::size_t own = std::size_t{64} << 10;
  // What a connection may have at most: 1024 open calls with their answers take about 700 KiB.
  static constexpr std::size_t most = std::size_t{1} << 20;

  explicit Http2Memory(Http2MemoryPool& pool) noexcept : pool_(pool) {}
  Http2Memory(const Http2Memory&) = delete;
  Http2Memory& operator=(const Http2Memory&) = delete;

  // As realloc(): `old` may be null. Returns null if the connection would have too much, or if
  // memory is short; then `old` stays.
  [[nodiscard]] void* resize(void* old, std::size_t size) noexcept;
  void release(void* old) noexcept;

  // Whether the connection may have more than `own` from now on: if its client is trusted.
  void trust(bool trusted) noexcept { trusted_ = trusted; }

  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  // The part of `bytes` that is beyond `own`.
  [[nodiscard]] static std::size_t shared(std::size_t bytes) noexcept {
    return bytes > own ? bytes - own : 0;
  }
  [[nodiscard]] bool may_have(std::size_t bytes) const noexcept;
  void set_used(std::size_t bytes) noexcept;

  Http2MemoryPool& pool_;
  std::size_t used_ = 0;  // [bytes]
  bool trusted_ = false;
};

// For containers; throws std::bad_alloc. The memory outlives them.
template <class T>
class Http2Allocator {
 public:
  using value_type = T;

  explicit Http2Allocator(Http2Memory& memory) noexcept : memory_(&memory) {}
  template <class Other>
  Http2Allocator(const Http2Allocator<Other>& other) noexcept : memory_(other.memory_) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    void* const found = count <= std::numeric_limits<std::size_t>::max() / sizeof(T)
                            ? memory_->resize(nullptr, count * sizeof(T))
                            : nullptr;
    if (found == nullptr) throw std::bad_alloc();
    return static_cast<T*>(found);
  }
  void deallocate(T* old, std::size_t) noexcept { memory_->release(old); }

  friend bool operator==(const Http2Allocator&, const Http2Allocator&) = default;

 private:
  template <class Other>
  friend class Http2Allocator;

  Http2Memory* memory_;
};

using Http2String = std::basic_string<char, std::char_traits<char>, Http2Allocator<char>>;

}  // namespace headgate::server
