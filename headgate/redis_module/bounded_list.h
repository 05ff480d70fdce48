// A list on the stack.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace headgate::redis_module {

// Elements are made when they are added, and their addresses stay. Never allocates.
template <class T, std::size_t Most>
class BoundedList {
 public:
  BoundedList() noexcept {}
  BoundedList(const BoundedList&) = delete;
  BoundedList& operator=(const BoundedList&) = delete;
  ~BoundedList() { std::destroy_n(elements(), size_); }

  // REQUIRES: size() < Most.
  template <class... Arguments>
  T& add(Arguments&&... arguments) {
    return *std::construct_at(elements() + size_++, std::forward<Arguments>(arguments)...);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return elements()[i]; }
  [[nodiscard]] std::span<T> span() noexcept { return {elements(), size_}; }

 private:
  [[nodiscard]] T* elements() noexcept { return reinterpret_cast<T*>(room_); }

  alignas(T) std::byte room_[Most * sizeof(T)];
  std::size_t size_ = 0;
};

}  // namespace headgate::redis_module
