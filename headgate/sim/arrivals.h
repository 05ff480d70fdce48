// A queue of arrivals: when units came, and how many. Compact, because each client may have one.
//
//   oldest_ | packed_: the arrivals between, each as its distance from the one before | newest_
//
// A packed arrival is one number: distance in the coarsest unit of time that is exact (ns, us, ms
// or s) * 8 + that unit * 2 + whether its units follow (otherwise 1 unit). Written as seven bits
// per byte, the lowest first, with the top bit set in all bytes but the last. In a log of whole
// seconds, an arrival of one unit takes 1 byte within 7 s of the one before, 2 bytes within 17
// minutes, and 3 bytes within a day.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/int128.h"

namespace headgate::sim {

struct Arrival {
  Instant at;
  std::uint64_t units = 0;
};

// Keeps the order of adding, for any times. Successive arrivals of the same time are joined as long
// as their sum fits. Not thread-safe.
class Arrivals {
 public:
  void add(Arrival arrival);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // REQUIRES: not empty.
  [[nodiscard]] const Arrival& oldest() const noexcept { return size_ == 1 ? newest_ : oldest_; }
  void drop_oldest();

  [[nodiscard]] std::vector<Arrival> all() const;
  // Memory of the packed arrivals [bytes].
  [[nodiscard]] std::size_t bytes() const noexcept { return packed_.capacity(); }

 private:
  void pack(Instant before, const Arrival& arrival);
  // Unpacks the arrival at `from`, and moves `from` behind it.
  [[nodiscard]] Arrival unpack(Instant before, std::size_t& from) const noexcept;
  void put(u128 number);
  [[nodiscard]] u128 get(std::size_t& from) const noexcept;

  std::vector<std::uint8_t> packed_;  // valid from begin_ on
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  Arrival oldest_;     // if there are two or more
  Instant packed_at_;  // time of the last arrival before newest_
  Arrival newest_;
};

}  // namespace headgate::sim
