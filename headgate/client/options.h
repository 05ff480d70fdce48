// How a client behaves towards one server.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::client {

enum class Mode : std::uint8_t {
  paced,   // spreads the units left over the time until the reset
  greedy,  // spends the units left at once, then waits for the reset
};

struct Options {
  Mode mode = Mode::paced;
  // The longest wait that is obeyed [ns]; then one request is sent, and its answer is obeyed. Ten
  // minutes bound the harm of an absurd value, and one request per ten minutes harms no server.
  Nanos wait_max = 600 * nanos_per_second;
  // The longest wait after a denial that sent none [ns], its jitter included. The initial value is
  // that of wait_max and 5 %.
  Nanos backoff_max = 630 * nanos_per_second;
  // The most units that are taken to be left; a greater r is lowered to this. A million is above
  // any useful limit for one client, and bounds the burst after an absurd value.
  std::uint64_t units_max = 1'000'000;
  // The most requests per second, whatever the server permits; at least 1. 1000 is a limit of
  // politeness; raise it for servers of your own.
  std::uint64_t rate_max = 1000;
  // Waits that a server sent are made longer, never shorter, by a random part of up to this many
  // thousandths of themselves, so that its clients do not all come back at the same time. 50 (5 %)
  // spreads them without making any wait noticeably longer.
  std::uint32_t jitter_permille = 50;
  // Of the random numbers; give each client a different one.
  std::uint64_t seed = 0;
};

}  // namespace headgate::client
