// For tests: parameters of every algorithm, most of which make a law.
#pragma once

#include <cstdint>
#include <random>

#include "headgate/limit/law.h"

namespace headgate::limit {

class RandomParameters {
 public:
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  std::uint64_t up_to_bits(unsigned bits) { return 1 + (engine_() >> (64 - 1 - below(bits))); }

  Parameters next() {
    Parameters made;
    const std::uint64_t units = below(10) == 0 ? 0 : up_to_bits(below(4) == 0 ? 40 : 12);
    made.quota = {units, static_cast<Nanos>(up_to_bits(60))};
    made.terms.algorithm = static_cast<Algorithm>(below(6));
    made.terms.denied = static_cast<Denied>(below(3));
    if (made.terms.denied == Denied::penalty) {
      made.terms.penalty = static_cast<Nanos>(up_to_bits(50));
    }
    made.terms.reset = static_cast<Reset>(below(4));
    made.terms.late = below(2) == 0;
    made.terms.aligned = below(2) == 0;
    made.terms.offset = made.quota.window / static_cast<Nanos>(1 + below(9));
    made.terms.log = static_cast<std::uint32_t>(1 + below(20));
    made.terms.lease = static_cast<Nanos>(up_to_bits(50));
    if (made.terms.algorithm == Algorithm::linear && below(2) == 0) {
      made.quota.count = up_to_bits(20);
      made.quota.period = static_cast<Nanos>(up_to_bits(40));
    }
    return made;
  }

  // The same, sometimes with a delay, if the algorithm has one.
  Parameters next_with_delay() {
    Parameters made = next();
    if (!can_wait(made.terms.algorithm) || below(2) == 0) return made;
    made.terms.denied = Denied::free;
    made.terms.penalty = 0;
    made.terms.delay = static_cast<Nanos>(up_to_bits(36));
    made.terms.waits = below(2) == 0;
    return made;
  }

 private:
  std::mt19937_64 engine_{20};
};

}  // namespace headgate::limit
