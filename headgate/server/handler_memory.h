// Memory for a handler of Asio, so that waiting for an event never fails because memory is short.
#pragma once

#include <boost/asio/bind_allocator.hpp>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

namespace headgate::server {

// Has room for one operation at a time, from its begin until its handler is called: a handler may
// begin the next one. Not thread-safe.
class HandlerMemory {
 public:
  // Throws std::bad_alloc.
  HandlerMemory() = default;
  HandlerMemory(const HandlerMemory&) = delete;
  HandlerMemory& operator=(const HandlerMemory&) = delete;

  // Returns a handler like this one, whose operation takes this memory.
  template <class Handler>
  [[nodiscard]] auto hold(Handler handler) const noexcept {
    return boost::asio::bind_allocator(Allocator<Handler>(room_), std::move(handler));
  }

 private:
  struct Room {
    // [bytes] An operation with a handler of two pointers has less than 200.
    static constexpr std::size_t size = 256;
    alignas(std::max_align_t) std::byte bytes[size];
    bool is_taken = false;
  };

  template <class T>
  class Allocator {
   public:
    using value_type = T;

    explicit Allocator(std::shared_ptr<Room> room) noexcept : room_(std::move(room)) {}
    template <class U>
    Allocator(const Allocator<U>& other) noexcept : room_(other.room_) {}

    [[nodiscard]] T* allocate(std::size_t count) noexcept {
      static_assert(sizeof(T) <= Room::size && alignof(T) <= alignof(std::max_align_t));
      assert(count == 1 && !room_->is_taken);
      room_->is_taken = count == 1;
      return reinterpret_cast<T*>(room_->bytes);
    }
    void deallocate(T*, std::size_t) noexcept { room_->is_taken = false; }

    friend bool operator==(const Allocator&, const Allocator&) = default;

   private:
    template <class U>
    friend class Allocator;

    std::shared_ptr<Room> room_;
  };

  // Operations that were cancelled may outlive this: they end with their io_context.
  std::shared_ptr<Room> room_ = std::make_shared<Room>();
};

}  // namespace headgate::server
