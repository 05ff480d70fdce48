// Which partitions a policy's candidate is in force for.
#pragma once

#include <string_view>

namespace headgate::policy {

// Returns whether a partition belongs to this share [%], 0..100, of all partitions. `key` is its
// store key under the policy itself, and not under the candidate. The answer is the same on all
// machines and after restarts, and a larger share has all partitions of a smaller one. Who knows a
// policy's name can choose keys that are in its share: the hash has no secret.
[[nodiscard]] bool is_in_share(std::string_view key, unsigned percent) noexcept;

}  // namespace headgate::policy
