// When the next request may begin.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::client {

// What the next request waits for.
enum class Why : std::uint8_t {
  nothing,      // the request may begin now
  pace,         // the units left are spread over time
  spent,        // no units are left until the reset
  retry_after,  // the time that the server sent in Retry-After
  backoff,      // the server denied, and sent no time
  answer,       // the answer to a request that is under way
};

// Call Pacer::next() again at `at`, or when an answer has come or a request has ended, whichever is
// first: an answer can shorten or lengthen the wait. `at` is unused for Why::answer.
struct Next {
  Why why = Why::nothing;
  Instant at;
  Nanos jitter = 0;  // by which `at` is later than it has to be
};

// The one of the two that waits longer; Why::answer waits longest, Why::nothing least.
[[nodiscard]] constexpr const Next& later(const Next& a, const Next& b) noexcept {
  if (a.why == Why::answer || b.why == Why::nothing) return a;
  if (b.why == Why::answer || a.why == Why::nothing) return b;
  return b.at > a.at ? b : a;
}

}  // namespace headgate::client
