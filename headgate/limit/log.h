// A log: the records of one key, oldest first, for laws that need more than one timestamp.
//
// The store implements the log; a law only uses the operations of the concept below. The functions
// in namespace log are what the laws with a log have in common.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "headgate/base/int128.h"

namespace headgate::limit {

struct Record {
  std::int64_t time = 0;   // in the law's own ticks
  std::uint64_t cost = 0;  // quota units, > 0
  friend bool operator==(const Record&, const Record&) = default;
};

// One key's records, in ascending order of their times. Some logs are lists: what reads many
// records reads them forwards.
template <class L>
concept ReadableLog = requires(const L& log, std::size_t i) {
  { log.size() } -> std::convertible_to<std::size_t>;
  { log.units() } -> std::convertible_to<std::uint64_t>;  // sum of all costs
  { log.get(i) } -> std::convertible_to<Record>;          // i < size(), 0 is the oldest
};

template <class L>
concept Log = ReadableLog<L> && requires(L& log, std::size_t i, Record record) {
  { log.append(record) } -> std::convertible_to<bool>;  // false: no memory, not appended
  log.drop_oldest(i);                                   // removes i <= size() records
  log.set(i, record);
  log.erase(i, i);  // the records from the first index up to, but not including, the second
  log.merged();     // for the counters: called when two records are merged because the log is full
};

namespace log {

// Drops the records that are not later than `horizon`. Sets the time of those that are later than
// `latest` to it (the clock went back).
template <Log L>
void expire(L& log, std::int64_t horizon, std::int64_t latest) noexcept {
  if (log.size() > 0 && log.get(log.size() - 1).time > latest) {
    std::size_t first = 0;  // bounded also if others change the records meanwhile
    while (first + 1 < log.size() && log.get(first).time <= latest) ++first;
    std::uint64_t ahead = 0;
    for (std::size_t i = first; i < log.size(); ++i) ahead += log.get(i).cost;
    log.set(first, {latest, ahead});
    log.erase(first + 1, log.size());
  }
  // Of the others, only one that was damaged is later than `latest`.
  const auto is_gone = [&](std::int64_t time) { return time <= horizon || time > latest; };
  std::size_t gone = 0;
  while (gone < log.size() && is_gone(log.get(gone).time)) ++gone;
  if (gone > 0) log.drop_oldest(gone);
}

// The sum of the costs of all records that are later than `horizon`.
template <ReadableLog L>
[[nodiscard]] std::uint64_t units_after(const L& log, std::int64_t horizon) noexcept {
  std::uint64_t units = log.units();
  for (std::size_t i = 0; i < log.size(); ++i) {
    const Record record = log.get(i);
    if (record.time > horizon) break;
    units -= record.cost;
  }
  return units;
}

// Of the records and the added one behind them, the pair of neighbours whose units times distance
// is the least: the index of the later one; size() means the added record. REQUIRES: size() > 0.
template <ReadableLog L>
[[nodiscard]] std::size_t closest_pair(const L& log, Record added) noexcept {
  const std::size_t count = log.size();
  Record before = log.get(0);
  std::size_t closest = count;
  u128 least = ~u128{0};
  for (std::size_t i = 1; i <= count; ++i) {
    const Record record = i < count ? log.get(i) : added;
    const auto span =
        static_cast<std::uint64_t>(record.time) - static_cast<std::uint64_t>(before.time);
    const u128 moved = static_cast<u128>(span) * before.cost;
    if (moved < least) {
      least = moved;
      closest = i;
    }
    before = record;
  }
  return closest;
}

// Adds a record at the end; if the newest record is not earlier than it, adds to the newest one. If
// there are already `records_max` records, or the store has no memory, merges two neighbours into
// one with the later time, so that used units never count for less or for a shorter time: the
// closest pair, and reads every record for that. Returns false if the log is empty and the store
// has no memory: the record is lost.
template <Log L>
bool add(L& log, Record added, std::size_t records_max) noexcept {
  const std::size_t count = log.size();
  if (count > 0) {
    const Record newest = log.get(count - 1);
    if (newest.time >= added.time) {
      log.set(count - 1, {newest.time, newest.cost + added.cost});
      return true;
    }
  }
  if (count < records_max && log.append(added)) return true;
  if (count == 0) return false;
  log.merged();
  const std::size_t closest = closest_pair(log, added);
  if (closest < count) {
    const Record earlier = log.get(closest - 1);
    const Record later = log.get(closest);
    log.set(closest, {later.time, earlier.cost + later.cost});
    log.erase(closest - 1, closest);
    if (log.append(added)) return true;
  }
  const Record newest = log.get(log.size() - 1);
  log.set(log.size() - 1, {added.time, newest.cost + added.cost});
  return true;
}

// What a log is after add(), if the store has memory: to be read, nothing is added. The log must
// outlive it and not change. REQUIRES: records_max > 0.
template <ReadableLog L>
class Added {
 public:
  Added(const L& log, Record added, std::size_t records_max) noexcept
      : log_(log), added_(added), later_(merges_at(log, added, records_max)) {}

  [[nodiscard]] std::size_t size() const noexcept { return log_.size() + (merges() ? 0 : 1); }
  [[nodiscard]] std::uint64_t units() const noexcept { return log_.units() + added_.cost; }
  [[nodiscard]] Record get(std::size_t i) const noexcept {
    if (!merges() || i + 1 < later_) return record(i);
    const Record later = record(i + 1);
    if (i + 1 > later_) return later;
    const Record earlier = record(i);
    return {std::max(earlier.time, later.time), earlier.cost + later.cost};
  }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};

  static std::size_t merges_at(const L& log, Record added, std::size_t records_max) noexcept {
    const std::size_t count = log.size();
    if (count > 0 && log.get(count - 1).time >= added.time) return count;
    return count < records_max ? nowhere : closest_pair(log, added);
  }

  [[nodiscard]] bool merges() const noexcept { return later_ != nowhere; }
  [[nodiscard]] Record record(std::size_t i) const noexcept {
    return i < log_.size() ? log_.get(i) : added_;
  }

  const L& log_;
  Record added_;
  std::size_t later_;  // the later one of two records that are merged; size() means the added one
};

// Removes up to `cost` units: from record i, then from the older ones, newest first, then from the
// newer ones. Returns how many it removed.
template <Log L>
std::uint64_t take_back(L& log, std::size_t i, std::uint64_t cost) noexcept {
  std::size_t last = std::min(i + 1, log.size());
  // Most often, the one record is enough.
  std::size_t first = last > 0 && log.get(last - 1).cost >= cost ? last - 1 : 0;
  std::uint64_t units = 0;
  for (std::size_t at = first; at < last; ++at) units += log.get(at).cost;
  std::uint64_t left = cost - std::min(cost, units);
  // Of these units, the oldest ones stay.
  std::uint64_t staying = units - (cost - left);
  for (; staying > 0 && first < last; ++first) {
    const Record record = log.get(first);
    if (record.cost > staying) log.set(first, {record.time, staying});
    staying -= std::min(staying, record.cost);
  }
  for (; left > 0 && last < log.size(); ++last) {
    const Record record = log.get(last);
    if (record.cost > left) {
      log.set(last, {record.time, record.cost - left});
      left = 0;
      break;
    }
    left -= record.cost;
  }
  log.erase(first, last);
  return cost - left;
}

// The index of the first record that is not earlier than `time`; size() if all are earlier.
template <ReadableLog L>
[[nodiscard]] std::size_t find(const L& log, std::int64_t time) noexcept {
  std::size_t first = 0;
  std::size_t last = log.size();
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    if (log.get(middle).time < time) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

}  // namespace log
}  // namespace headgate::limit
