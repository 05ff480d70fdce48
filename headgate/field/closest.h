// Which of several limits is the closest to exhaustion: the one that forms with a single limit
// hold.
#pragma once

#include <cstdint>
#include <optional>

namespace headgate::field {

// Whether a limit (r, t) is closer to exhaustion than another: it has fewer units left or, if these
// are equal, the longer t (a missing t counts as 0). False if both are equal, so that the first of
// several stays chosen.
[[nodiscard]] constexpr bool closer(std::uint64_t r, std::optional<std::uint64_t> t,
                                    std::uint64_t other_r,
                                    std::optional<std::uint64_t> other_t) noexcept {
  return r != other_r ? r < other_r : t.value_or(0) > other_t.value_or(0);
}

}  // namespace headgate::field
