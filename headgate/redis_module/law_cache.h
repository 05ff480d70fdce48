// A cache of the laws that clients send with every call, because reading and making one costs more
// than a decision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/limit/law.h"
#include "headgate/redis/law_reader.h"

namespace headgate::redis_module {

// Not thread-safe. Never allocates.
class LawCache {
 public:
  // The law of this text, by value: a later call may replace it here. Error: as read_law().
  [[nodiscard]] Result<limit::Law, std::string_view> find(std::string_view text) noexcept {
    Entry& entry = entries_[std::hash<std::string_view>()(text) % entries_.size()];
    if (entry.size != 0 && text.size() == entry.size &&
        std::memcmp(text.data(), entry.text, text.size()) == 0) {
      return entry.law;
    }
    auto law = redis::read_law(text);
    if (law && text.size() <= sizeof entry.text) {
      entry.size = text.size();
      std::memcpy(entry.text, text.data(), text.size());
      entry.law = *law;
    }
    return law;
  }

 private:
  struct Entry {
    std::size_t size = 0;  // 0: unused; no law has an empty text
    char text[120];        // longer than what most policies need; a longer text is not cached
    limit::Law law;
  };

  // A policy file has some ten laws; 60 KB.
  std::array<Entry, 256> entries_;
};

}  // namespace headgate::redis_module
