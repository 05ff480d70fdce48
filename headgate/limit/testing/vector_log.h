// A log in ordinary memory: for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headgate/limit/log.h"

namespace headgate::limit {

class VectorLog {
 public:
  // append() fails if there are already `room` records, as in a store without memory.
  explicit VectorLog(std::size_t room = ~std::size_t{0}) noexcept : room_(room) {}

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  [[nodiscard]] std::uint64_t units() const noexcept { return units_; }
  [[nodiscard]] Record get(std::size_t i) const { return records_.at(i); }
  [[nodiscard]] std::uint64_t merges() const noexcept { return merges_; }

  bool append(Record record) {
    if (records_.size() >= room_) return false;
    records_.push_back(record);
    units_ += record.cost;
    return true;
  }
  void drop_oldest(std::size_t n) { erase(0, n); }
  void set(std::size_t i, Record record) {
    units_ += record.cost - records_.at(i).cost;
    records_.at(i) = record;
  }
  void erase(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) units_ -= records_.at(i).cost;
    const auto begin = records_.begin();
    records_.erase(begin + static_cast<std::ptrdiff_t>(first),
                   begin + static_cast<std::ptrdiff_t>(last));
  }
  void merged() noexcept { ++merges_; }

 private:
  std::vector<Record> records_;
  std::uint64_t units_ = 0;
  std::uint64_t merges_ = 0;
  std::size_t room_;
};
static_assert(Log<VectorLog>);

}  // namespace headgate::limit
