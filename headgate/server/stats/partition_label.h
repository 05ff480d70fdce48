// How a partition is written down in a TopSketch, and what people see of it.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/siphash.h"
#include "headgate/server/stats/top_sketch.h"

namespace headgate::server {

// Write into room for TopSketch::label_max bytes and return how many they wrote. The same partition
// has the same bytes, and no other has them. `policy` is cut behind 64 bytes.

// The key itself; of a long one the beginning, and `opaque` to tell it from others.
std::size_t write_plain_label(std::string_view policy, std::string_view key, const Hash128& opaque,
                              char* out) noexcept;
// Only what stands for the key.
std::size_t write_opaque_label(std::string_view policy, const Hash128& opaque, char* out) noexcept;

struct PartitionLabel {
  std::string policy;
  // Printable ASCII: "10.0.0.2", "a long one...#1f0ac9d2" (the number tells apart what begins
  // alike), or, as the pk parameter of RateLimit has it,
  // ":oRG3AVLFs5Nh2ZHJ3nPpKg==:". Other bytes are written \xNN, and a backslash \\.
  std::string key;
};
// Of what the functions above wrote. Throws std::bad_alloc.
[[nodiscard]] PartitionLabel read_label(std::string_view label);

}  // namespace headgate::server
