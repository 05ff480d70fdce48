#include "headgate/sim/arrivals.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace headgate::sim {
namespace {

constexpr Nanos units_of_time[] = {1, 1'000, 1'000'000, 1'000'000'000};

// Zigzag code: small positive and negative distances give small numbers. 0 -1 1 -2 2 are coded as
// 0 1 2 3 4.
u128 folded(i128 distance) noexcept {
  return distance < 0 ? static_cast<u128>(-distance) * 2 - 1 : static_cast<u128>(distance) * 2;
}

i128 unfolded(u128 number) noexcept {
  const auto half = static_cast<i128>(number / 2);
  return number % 2 == 1 ? -half - 1 : half;
}

}  // namespace

void Arrivals::add(Arrival arrival) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (size_ > 0 && newest_.at == arrival.at && arrival.units <= most - newest_.units) {
    newest_.units += arrival.units;
    return;
  }
  if (size_ == 1) oldest_ = newest_;
  if (size_ > 1) pack(packed_at_, newest_);
  if (size_ > 0) packed_at_ = newest_.at;
  newest_ = arrival;
  ++size_;
}

void Arrivals::drop_oldest() {
  --size_;
  if (size_ < 2) {
    packed_.clear();
    begin_ = 0;
    return;
  }
  oldest_ = unpack(oldest_.at, begin_);
  if (2 * begin_ > packed_.size()) {
    packed_.erase(packed_.begin(), packed_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
}

std::vector<Arrival> Arrivals::all() const {
  std::vector<Arrival> all;
  if (size_ > 1) all.push_back(oldest_);
  for (std::size_t from = begin_; from < packed_.size();) {
    all.push_back(unpack(all.back().at, from));
  }
  if (size_ > 0) all.push_back(newest_);
  return all;
}

void Arrivals::pack(Instant before, const Arrival& arrival) {
  const i128 distance = static_cast<i128>(arrival.at.ns) - before.ns;
  std::size_t unit = std::size(units_of_time) - 1;
  while (distance % units_of_time[unit] != 0) --unit;
  const u128 number = folded(distance / units_of_time[unit]);
  put(number * 8 + unit * 2 + (arrival.units == 1 ? 0 : 1));
  if (arrival.units != 1) put(arrival.units);
}

Arrival Arrivals::unpack(Instant before, std::size_t& from) const noexcept {
  const u128 number = get(from);
  const i128 distance = unfolded(number / 8) * units_of_time[number / 2 % 4];
  const std::uint64_t units = number % 2 == 0 ? 1 : static_cast<std::uint64_t>(get(from));
  return {{static_cast<Nanos>(before.ns + distance)}, units};
}

void Arrivals::put(u128 number) {
  for (; number >= 128; number /= 128) {
    packed_.push_back(static_cast<std::uint8_t>(128 + number % 128));
  }
  packed_.push_back(static_cast<std::uint8_t>(number));
}

u128 Arrivals::get(std::size_t& from) const noexcept {
  u128 number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = packed_[from++];
    number |= static_cast<u128>(byte % 128) << shift;
    if (byte < 128) return number;
  }
}

}  // namespace headgate::sim
