// Units of named policies that were taken ahead, until it is known what is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/gate/verdict.h"

namespace headgate::gate {

// What settling needs of one call of Gate::reserve(). The caller keeps it; the gate keeps nothing.
struct Reservation {
  // Another one for each reservation, also of other machines, of at most 63 bytes: the store keeps
  // for an hour which ones were settled. Empty: the caller settles it once, and the store keeps
  // nothing.
  std::string_view id;
  Instant taken;  // DecisionContext::now of the call
  std::span<const Due> dues;
  // A store key that was charged, the same one in each call for this reservation: what the store
  // keeps of the reservation is beside it, so that machines reach both or neither.
  std::string_view beside{};
  // Whether units were counted by another machine alone, while the store that machines share was
  // away: they are in that machine's table, and what tells whether it was settled is there, too.
  bool elsewhere = false;
};

// How long a reservation can be settled. Longer than any response takes; and not much longer,
// because the table keeps 16 bytes of each that was settled, for twice this time.
inline constexpr Nanos reservation_lifetime = 3600 * nanos_per_second;

// What a caller can keep of the dues of a reservation. The keys of all charges have to fit, with
// `each` bytes more for every charge.
struct DueRoom {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  std::size_t each = 0;
};

enum class Settled : std::uint8_t {
  yes,
  no,         // it was settled before, or is too old: nothing has changed. Or the store is full, so
              // that it cannot tell: slots were released and what was missing was charged, but no
              // units were given back
  unknown,    // the store that machines share did not answer in time: a later call may settle. Or
              // that this one settles is noted there: then units may stay charged, and slots taken
              // until their lease ends
  elsewhere,  // nothing has changed: only another machine can settle it (Reservation::elsewhere)
};

}  // namespace headgate::gate
