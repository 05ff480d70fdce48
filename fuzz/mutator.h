// Makes inputs for a fuzz target out of those of its corpus, fast and without looking at what they
// reach.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace headgate::fuzz {

using Bytes = std::vector<std::uint8_t>;

class Mutator {
 public:
  // `inputs`: at least one.
  Mutator(std::vector<Bytes> inputs, std::uint64_t seed)
      : inputs_(std::move(inputs)), random_(seed) {}

  // An input with one to four changes. Valid until the next call.
  const Bytes& next() {
    bytes_ = inputs_[below(inputs_.size())];
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change();
    return bytes_;
  }

 private:
  // Bytes that mean something to most parsers.
  static constexpr std::string_view telling_ = {
      "0129;,=\"' -+.:/%&?#\\\r\n\t()[]{}<>\0\x7f\x80\xff", 35};

  std::size_t below(std::size_t bound) { return random_() % bound; }
  // Where a byte is; for an empty input, where one can be inserted.
  std::size_t place() { return bytes_.empty() ? 0 : below(bytes_.size()); }

  void change() {
    const std::size_t at = place();
    const auto here = bytes_.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t kind = below(8);
    if (kind == 0) {
      bytes_.insert(here, static_cast<std::uint8_t>(random_()));
    } else if (kind == 1) {
      insert_part(at);
    } else if (bytes_.empty()) {
      return;
    } else if (kind == 2) {
      *here ^= static_cast<std::uint8_t>(1U << below(8));
    } else if (kind == 3) {
      *here = static_cast<std::uint8_t>(random_());
    } else if (kind == 4) {
      *here = static_cast<std::uint8_t>(telling_[below(telling_.size())]);
    } else if (kind == 5) {
      std::swap(*here, bytes_[place()]);
    } else if (kind == 6) {
      const std::size_t size = std::min(1 + below(8), bytes_.size() - at);
      bytes_.erase(here, here + static_cast<std::ptrdiff_t>(size));
    } else {
      bytes_.resize(at);
    }
  }

  // A part of any input, of at most 32 bytes.
  void insert_part(std::size_t at) {
    const Bytes& other = inputs_[below(inputs_.size())];
    if (other.empty()) return;
    const std::size_t begin = below(other.size());
    const std::size_t size = std::min(1 + below(32), other.size() - begin);
    const auto from = other.begin() + static_cast<std::ptrdiff_t>(begin);
    bytes_.insert(bytes_.begin() + static_cast<std::ptrdiff_t>(at), from,
                  from + static_cast<std::ptrdiff_t>(size));
  }

  std::vector<Bytes> inputs_;
  std::mt19937_64 random_;
  Bytes bytes_;
};

}  // namespace headgate::fuzz
