// Which of several limits is the closest to exhaustion: what the forms that can tell only one tell.
#pragma once

#include <cstdint>
#include <optional>

namespace headgate::field {

// The one with fewer units left; of equals the one with the longer t (none counts as 0). False of
// limits that are equal in both, so that the first of them stays.
[[nodiscard]] constexpr bool closer(std::uint64_t r, std::optional<std::uint64_t> t,
                                    std::uint64_t other_r,
                                    std::optional<std::uint64_t> other_t) noexcept {
  return r != other_r ? r < other_r : t.value_or(0) > other_t.value_or(0);
}

}  // namespace headgate::field
