// The label of a partition in a TopSketch, and the text that people see.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/siphash.h"
#include "headgate/view/top_sketch.h"

namespace headgate::view {

// Both functions write at most TopSketch::label_max bytes and return their number. Equal partitions
// have equal labels, different ones have different labels. Both cut `policy` after 64 bytes.

// Writes the key itself; of a long key its beginning and `client`, a keyed hash of all of it.
std::size_t write_plain_label(std::string_view policy, std::string_view key, const Hash128& client,
                              char* out) noexcept;
// Writes only `opaque`, the keyed hash that stands for the key under this policy, and `client`,
// which is the same under all policies.
std::size_t write_opaque_label(std::string_view policy, const Hash128& opaque,
                               const Hash128& client, char* out) noexcept;

struct PartitionLabel {
  std::string policy;
  // Printable ASCII: "10.0.0.2"; "a long one...#1f0ac9d2", where the number differs between keys
  // that begin alike; or ":oRG3AVLFs5Nh2ZHJ3nPpKg==:", as in the pk parameter of RateLimit. Other
  // bytes are written \xNN, and a backslash \\.
  std::string key;
  // Equal exactly for equal keys, whatever the policy, as `key` is if keys are shown; empty then.
  std::string client;
};
// Reads a label that one of the functions above wrote. Throws std::bad_alloc.
[[nodiscard]] PartitionLabel read_label(std::string_view label);

}  // namespace headgate::view
