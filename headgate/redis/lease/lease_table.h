// The leases of a process, by key.
//
// Keys that nobody uses are removed after half a second, so there are about as many as Redis
// answers in that time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/base/text_map.h"
#include "headgate/limit/decision.h"
#include "headgate/redis/lease/lease.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// Thread-safe.
class LeaseTable {
 public:
  // By which Redis knows this process. Chosen at the first call, so that processes that were forked
  // after the table was made have one each. Throws std::bad_alloc.
  [[nodiscard]] const std::string& id();
  // The number of an ask that begins: greater than that of every earlier one.
  [[nodiscard]] std::uint64_t next_ask() noexcept {
    return asks_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // A lease, and where the key is in Redis.
  struct Entry {
    Lease lease;
    std::string redis_key;
    std::uint16_t slot;
  };

  struct Decided {
    Lease::Found found = Lease::Found::unknown;
    bool becomes_low = false;  // Redis is to be asked for more, by one caller
  };
  // Decides what can be decided here, and then writes `decision`.
  [[nodiscard]] Decided decide(const store::Charge& charge, limit::Decision& decision) noexcept;

  // How the lease denies this charge, if it does.
  [[nodiscard]] std::optional<limit::Decision> denial(const store::Charge& charge) noexcept;
  // Of a key that is being given units back.
  void end_denials(std::string_view key) noexcept {
    with(key, [](Entry& entry) { entry.lease.end_denials(); });
  }
  // The charge was admitted, and has to be denied after all. If the lease is under another law by
  // now, its units are lost: they count as spent.
  void give_back(const store::Charge& charge) noexcept;

  // Calls `use(Entry&)`, if there is an entry, while no other thread uses it. Returns whether there
  // is.
  template <class Use>
  bool with(std::string_view key, const Use& use) {
    Shard& shard = this->shard(key);
    const std::lock_guard lock(shard.lock);
    const auto found = shard.entries.find(key);
    if (found == shard.entries.end()) return false;
    use(found->second);
    return true;
  }
  // The same, and first adds the entry that `make()` returns if there is none. Throws
  // std::bad_alloc.
  template <class Make, class Use>
  void with(std::string_view key, const Make& make, const Use& use) {
    Shard& shard = this->shard(key);
    const std::lock_guard lock(shard.lock);
    auto found = shard.entries.find(key);
    if (found == shard.entries.end()) found = shard.entries.emplace(key, make()).first;
    use(found->second);
  }
  // Calls `use(const std::string& key, Entry&)` for each entry, while no other thread uses it.
  template <class Use>
  void for_each(const Use& use) {
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.lock);
      for (auto& [key, entry] : shard.entries) use(key, entry);
    }
  }
  // Removes the key if `unless_used(Entry&)` returns true.
  template <class If>
  void remove_if(std::string_view key, const If& is_unused) {
    Shard& shard = this->shard(key);
    const std::lock_guard lock(shard.lock);
    const auto found = shard.entries.find(key);
    if (found != shard.entries.end() && is_unused(found->second)) shard.entries.erase(found);
  }

 private:
  struct alignas(64) Shard {
    std::mutex lock;
    TextMap<Entry> entries;
  };
  static constexpr std::size_t shards = 64;

  [[nodiscard]] Shard& shard(std::string_view key) noexcept {
    // The high bits: the map uses the low ones.
    return shards_[TextHash{}(key) >> 32 & (shards - 1)];
  }

  std::once_flag id_chosen_;
  std::string id_;
  std::atomic<std::uint64_t> asks_{0};
  std::array<Shard, shards> shards_;
};

}  // namespace headgate::redis
