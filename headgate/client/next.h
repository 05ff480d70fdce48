// When the next request may go.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::client {

// What the next request waits for.
enum class Why : std::uint8_t {
  nothing,      // it may go
  pace,         // what is left is spread over time
  spent,        // nothing is left until the server has said that there is more
  retry_after,  // the server said when to come back
  backoff,      // it denied, and did not say when to come back
  answer,       // to a request that is under way
};

// Ask again at `at`, or when an answer has come or a request has ended, whichever is first: that
// can change everything. Of Why::answer, `at` means nothing.
struct Next {
  Why why = Why::nothing;
  Instant at;
};

// The one that waits longer.
[[nodiscard]] constexpr const Next& later(const Next& a, const Next& b) noexcept {
  if (a.why == Why::answer || b.why == Why::nothing) return a;
  if (b.why == Why::answer || a.why == Why::nothing) return b;
  return b.at > a.at ? b : a;
}

}  // namespace headgate::client
