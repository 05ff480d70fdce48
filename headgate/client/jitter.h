// Random additions to waits.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::client {

// SplitMix64 (Steele, Lea, Flood 2014), whose constants these are. Not for secrets.
class Jitter {
 public:
  Jitter(std::uint64_t seed, std::uint32_t permille) noexcept : state_(seed), permille_(permille) {}

  // A random part of `wait`, from 0 to `permille` thousandths of it.
  [[nodiscard]] Nanos of(Nanos wait) noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    const std::uint64_t chance = (x ^ (x >> 31)) >> 32;
    return wait * permille_ * chance / (i128{1000} << 32);
  }

 private:
  std::uint64_t state_;
  std::uint32_t permille_;
};

}  // namespace headgate::client
