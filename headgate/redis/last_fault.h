// Why the last decision that Redis did not make was not made.
#pragma once

#include <mutex>
#include <string>

namespace headgate::redis {

// Thread-safe.
class LastFault {
 public:
  // Throws std::bad_alloc.
  void note(const std::string& why) {
    const std::lock_guard lock(lock_);
    why_ = why;
  }
  // Empty: there was none. Throws std::bad_alloc.
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(lock_);
    return why_;
  }

 private:
  mutable std::mutex lock_;
  std::string why_;
};

}  // namespace headgate::redis
