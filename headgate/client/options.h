// How a client behaves towards one server.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::client {

enum class Mode : std::uint8_t {
  paced,   // spreads what is left over the time that it has to last
  greedy,  // spends what is left, then waits
};

struct Options {
  Mode mode = Mode::paced;
  // The longest wait that is believed. After it, one request asks how things are.
  Nanos wait_max = 600 * nanos_per_second;
  // The most units that are believed to be left.
  std::uint64_t units_max = 1'000'000;
  // Never more requests a second than this, whatever the server says; at least 1.
  std::uint64_t rate_max = 1000;
  // Waits that a server named are longer by a random part of themselves of up to this many
  // thousandths, never shorter, so that its clients do not all come back at once.
  std::uint32_t jitter_permille = 50;
  // Makes the random parts: different for every client.
  std::uint64_t seed = 0;
};

}  // namespace headgate::client
