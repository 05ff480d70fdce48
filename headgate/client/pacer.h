// When the next request to a server may go: the client's side of rate limits.
//
// The transport is the caller's. With each request it does this:
//
//   Next next = pacer.next(now);              // Why::nothing: it may go
//   Request request = pacer.begin(now);       // it goes
//   pacer.hear(request, {status, view}, now); // its header section has come
//   pacer.end(request, now);                  // its body has ended, or there will be none
//
// A pacer obeys every limit that the server names (RateLimit in all its dialects, by
// field::read_response), and Retry-After before all; never sends more than r units before t has
// passed, whatever is under way and in whatever order answers come; after t sends one request to
// ask, never more; distrusts waits and amounts beyond Options; forgets what the server no longer
// says; starts, and starts again after a denial, with one request and doubles. Of a server that
// denies without fields it learns the rate.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headgate/client/allowance.h"
#include "headgate/client/jitter.h"
#include "headgate/client/learned.h"
#include "headgate/client/next.h"
#include "headgate/client/options.h"
#include "headgate/client/pace.h"
#include "headgate/client/request.h"
#include "headgate/client/slots.h"
#include "headgate/field/read/response.h"

namespace headgate::client {

// Whether the status says "not now": 429 and 503.
[[nodiscard]] constexpr bool denies(int status) noexcept { return status == 429 || status == 503; }

// What one answer says.
struct Answer {
  int status = 200;
  const field::ResponseView& view;
};

// The limit with the least left.
struct Standing {
  std::string_view policy;  // empty where the dialect names none; valid until the next hear()
  std::uint64_t left = 0;   // requests that may begin until `until`
  std::optional<std::uint64_t> quota;
  Instant until;
};

// One a server (an origin), and one a partition where the caller knows what the server partitions
// by. All requests to that server go through it, also those that follow redirects. Not
// thread-safe. Keeps no clock: instants are the caller's, of a clock that does not go back. Only
// hear() may allocate, and throw std::bad_alloc.
class Pacer {
 public:
  // More limits than this, of what a server names, are not kept.
  static constexpr std::size_t allowances_max = 32;

  Pacer(const Options& options, Instant now);

  // No wait is longer than Options::wait_max and its jitter, except for an answer: and there always
  // is a request under way then.
  [[nodiscard]] Next next(Instant now) const noexcept;

  // A request goes, whether next() allowed it or not.
  [[nodiscard]] Request begin(Instant now) noexcept;
  // At most once a request, before its end.
  void hear(Request& request, const Answer& answer, Instant now);
  // Exactly once a request. Without hear(): no answer came.
  void end(const Request& request) noexcept;

  // How many requests the caller has still to begin; 0, as in the beginning: it does not know.
  // What is left for all of them is not spread out.
  void set_backlog(std::uint64_t rest) noexcept { rest_ = rest; }

  [[nodiscard]] std::optional<Standing> standing(Instant now) const noexcept;
  [[nodiscard]] const Traffic& traffic() const noexcept { return traffic_; }

 private:
  void hear_members(const Request& request, const Answer& answer, Instant now);
  void hear_member(const field::Member& member, std::size_t ordinal, const Request& request,
                   const Answer& answer, Instant now);
  void forget_other_partitions(const field::ResponseView& view);
  void hear_denial(const Request& request, const field::ResponseView& view, Instant now);
  void hear_admission(const Request& request, bool cached) noexcept;
  void block(Instant now, Nanos wait, Why why) noexcept;
  [[nodiscard]] Nanos believed(std::uint64_t seconds) const noexcept;

  Options options_;
  Jitter jitter_;
  Traffic traffic_;
  std::uint64_t rest_ = 0;

  std::vector<Allowance> allowances_;
  Slots slots_;
  Pace ceiling_;
  Learned learned_;

  Next blocked_;                 // by Retry-After, or backing off
  std::uint64_t window_ = 1;     // requests that may be without an answer
  std::uint64_t denials_ = 0;    // rounds of them without an admission
  std::uint64_t denied_at_ = 0;  // requests up to this number had begun when a denial came
};

}  // namespace headgate::client
