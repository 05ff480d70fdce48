// A limit::Log in ordinary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/limit/log.h"

namespace headgate::redis {

// A value. Its bytes are 16 per record: the time and the cost, little-endian.
class RecordLog {
 public:
  RecordLog() = default;
  // Whole records only; the rest of `bytes` is ignored. May throw std::bad_alloc.
  explicit RecordLog(std::string_view bytes) : records_(bytes.size() / sizeof(limit::Record)) {
    if (!records_.empty()) {
      std::memcpy(records_.data(), bytes.data(), records_.size() * sizeof(limit::Record));
    }
    for (const limit::Record& record : records_) units_ += record.cost;
  }

  [[nodiscard]] std::string_view bytes() const noexcept {
    return {reinterpret_cast<const char*>(records_.data()),
            records_.size() * sizeof(limit::Record)};
  }

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  [[nodiscard]] std::uint64_t units() const noexcept { return units_; }
  [[nodiscard]] limit::Record get(std::size_t i) const noexcept { return records_[i]; }

  bool append(limit::Record record) {
    records_.push_back(record);
    units_ += record.cost;
    return true;
  }
  void drop_oldest(std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) units_ -= records_[i].cost;
    records_.erase(records_.begin(), at(count));
  }
  void set(std::size_t i, limit::Record record) noexcept {
    units_ += record.cost - records_[i].cost;
    records_[i] = record;
  }
  void erase(std::size_t i) noexcept {
    units_ -= records_[i].cost;
    records_.erase(at(i));
  }
  void merged() noexcept {}

 private:
  [[nodiscard]] std::vector<limit::Record>::iterator at(std::size_t i) noexcept {
    return records_.begin() + static_cast<std::ptrdiff_t>(i);
  }

  std::vector<limit::Record> records_;
  std::uint64_t units_ = 0;
};
static_assert(limit::Log<RecordLog>);
static_assert(sizeof(limit::Record) == 16);

}  // namespace headgate::redis
