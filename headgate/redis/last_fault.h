// Why the last decision that Redis did not make was not made.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/base/hex.h"

namespace headgate::redis {

// Thread-safe.
class LastFault {
 public:
  // `why` may have what Redis has replied. Of a command that it does not know, Redis quotes the
  // arguments, which have keys of clients: they are left out. Throws std::bad_alloc.
  void note(std::string_view why) {
    std::string text;
    for (const char c : why.substr(0, why.find(", with args beginning with:"))) {
      append_printable(text, c);
    }
    const std::lock_guard lock(lock_);
    why_ = std::move(text);
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
