// When units came, and how many: a queue that is small, for there may be one for each client.
//
//   oldest_ | packed_: those between, each by its distance from the one before | newest_
//
// A packed arrival is one number: distance in the coarsest unit of time that is exact (ns, us, ms
// or s) * 8 + that unit * 2 + whether its units follow (otherwise: one). Seven bits a byte, the
// lowest first, the top bit set in all but the last. So in a log of whole seconds one unit takes a
// byte if it comes within 7 s of the one before, two within 17 minutes, three within a day.
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

// In the order in which they were added, whatever their times. Those of one time that come one
// after the other are one, as long as the sum fits. Not thread-safe.
class Arrivals {
 public:
  void add(Arrival arrival);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // REQUIRES: not empty.
  [[nodiscard]] const Arrival& oldest() const noexcept { return size_ == 1 ? newest_ : oldest_; }
  void drop_oldest();

  [[nodiscard]] std::vector<Arrival> all() const;
  // What the packed ones take [bytes].
  [[nodiscard]] std::size_t bytes() const noexcept { return packed_.capacity(); }

 private:
  void pack(Instant before, const Arrival& arrival);
  // Unpacks what begins at `from`, and moves `from` behind it.
  [[nodiscard]] Arrival unpack(Instant before, std::size_t& from) const noexcept;
  void put(u128 number);
  [[nodiscard]] u128 get(std::size_t& from) const noexcept;

  std::vector<std::uint8_t> packed_;  // from begin_ on
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  Arrival oldest_;     // if there are two or more
  Instant packed_at_;  // of the last one before newest_
  Arrival newest_;
};

}  // namespace headgate::sim
