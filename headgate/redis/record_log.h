// A limit::Log in ordinary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "headgate/limit/log.h"
#include "headgate/limit/quota.h"

namespace headgate::redis {

// A value. Its bytes are 16 per record: the time and the cost, little-endian. May throw what the
// allocator throws.
template <class Allocator = std::allocator<limit::Record>>
class BasicRecordLog {
 public:
  BasicRecordLog() = default;
  // Whole records only; the rest of `bytes` is ignored.
  explicit BasicRecordLog(std::string_view bytes) : records_(bytes.size() / sizeof(limit::Record)) {
    if (!records_.empty()) {
      std::memcpy(records_.data(), bytes.data(), records_.size() * sizeof(limit::Record));
    }
    for (const limit::Record& record : records_) units_ += record.cost;
  }

  // Whether `bytes` are a log that some law has written: whole records in the order of their times,
  // not more than a law may have.
  [[nodiscard]] static bool reads(std::string_view bytes) noexcept {
    constexpr std::size_t each = sizeof(limit::Record);
    if (bytes.size() % each != 0 || bytes.size() / each > limit::Terms::log_max) return false;
    limit::Record before{std::numeric_limits<std::int64_t>::min(), 1};
    for (std::size_t at = 0; at < bytes.size(); at += each) {
      limit::Record record;
      std::memcpy(&record, bytes.data() + at, each);
      constexpr std::uint64_t cost_max = 2 * limit::Quota::units_max;
      if (record.time < before.time || record.cost == 0 || record.cost > cost_max) return false;
      before = record;
    }
    return true;
  }

  [[nodiscard]] std::string_view bytes() const noexcept {
    return {reinterpret_cast<const char*>(records_.data()),
            records_.size() * sizeof(limit::Record)};
  }

  // Whether a record was added, removed or set since the log was made.
  [[nodiscard]] bool is_changed() const noexcept { return is_changed_; }

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  [[nodiscard]] std::uint64_t units() const noexcept { return units_; }
  [[nodiscard]] limit::Record get(std::size_t i) const noexcept { return records_[i]; }

  // To be called before each operation of a law: it appends one record at most, and may not throw.
  void make_room() {
    if (records_.size() == records_.capacity()) records_.reserve(2 * records_.size() + 1);
  }
  bool append(limit::Record record) {
    is_changed_ = true;
    records_.push_back(record);
    units_ += record.cost;
    return true;
  }
  void drop_oldest(std::size_t count) noexcept { erase(0, count); }
  void set(std::size_t i, limit::Record record) noexcept {
    is_changed_ = true;
    units_ += record.cost - records_[i].cost;
    records_[i] = record;
  }
  void erase(std::size_t first, std::size_t last) noexcept {
    is_changed_ = is_changed_ || first < last;
    for (std::size_t i = first; i < last; ++i) units_ -= records_[i].cost;
    records_.erase(at(first), at(last));
  }
  void merged() noexcept {}

 private:
  using Records = std::vector<limit::Record, Allocator>;

  [[nodiscard]] typename Records::iterator at(std::size_t i) noexcept {
    return records_.begin() + static_cast<std::ptrdiff_t>(i);
  }

  Records records_;
  std::uint64_t units_ = 0;
  bool is_changed_ = false;
};

using RecordLog = BasicRecordLog<>;
static_assert(limit::Log<RecordLog>);
static_assert(sizeof(limit::Record) == 16);

}  // namespace headgate::redis
