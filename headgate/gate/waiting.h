// Requests that wait in place of being denied, as far as a policy lets so many wait at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace headgate::gate {

// How many requests wait for one policy. Gates that take each other's place share it.
using WaitingCount = std::atomic<std::uint32_t>;

// One of these requests, or none: counts until this ends, also if its gate has ended before.
class Waiting {
 public:
  Waiting() = default;
  // Takes over one that is counted already.
  explicit Waiting(std::shared_ptr<WaitingCount> count) noexcept : count_(std::move(count)) {}
  Waiting(Waiting&&) noexcept = default;
  Waiting& operator=(Waiting&& other) noexcept {
    Waiting ended(std::move(*this));
    count_ = std::move(other.count_);
    return *this;
  }
  ~Waiting() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<WaitingCount> count_;
};

}  // namespace headgate::gate
