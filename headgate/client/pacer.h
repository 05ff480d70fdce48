// When the next request to a server may begin: the client's side of rate limits.
//
// The transport is the caller's. For each request the caller does this:
//
//   Next next = pacer.next(now);                  // Why::nothing: it may begin
//   Request request = pacer.begin(now);           // it begins
//   pacer.receive(request, {status, view}, now); // its header section has come
//   pacer.end(request);                           // its body has ended, or there will be none
//
// What a pacer promises:
// - It obeys Retry-After first, and every limit that the server sends in any dialect of RateLimit
//   (read by field::read_response).
// - It permits at most r units before t has passed, whatever is under way and in whatever order
//   answers come. After t it permits one request, whose answer says what is left.
// - It lowers waits and amounts to the maxima of Options.
// - It forgets limits that the server no longer sends.
// - At the start and after a denial it permits one request at a time, then doubles.
// - While a server sends no limits, or only with denials, it learns the permitted rate from the
//   denials.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headgate/client/allowance.h"
#include "headgate/client/jitter.h"
#include "headgate/client/learned.h"
#include "headgate/client/limit_id.h"
#include "headgate/client/next.h"
#include "headgate/client/options.h"
#include "headgate/client/pace.h"
#include "headgate/client/request.h"
#include "headgate/client/slots.h"
#include "headgate/field/read/response.h"

namespace headgate::client {

// What one answer says.
struct Answer {
  int status = 200;
  const field::ResponseView& view;
};

// Whether a response with this status denied the request, whatever its fields: 429 and 503.
[[nodiscard]] constexpr bool denies(int status) noexcept { return status == 429 || status == 503; }
// The same for an answer with its fields: also 403, as GitHub's, if it has Retry-After or a limit
// on requests of which nothing is left.
[[nodiscard]] bool denies(const Answer& answer) noexcept;

// The limit with the least left.
struct Standing {
  std::string_view policy;  // empty if the dialect has no names; valid until the next receive()
  std::uint64_t left = 0;   // requests that may begin until `until`
  std::optional<std::uint64_t> quota;
  Instant until;
};

// Use one pacer per server (origin), or per partition if the caller knows what the server
// partitions by, for all requests to it, those that follow redirects included. Not thread-safe.
// Reads no clock: the caller passes instants of a clock that never goes back. Only receive() may
// allocate, and may throw std::bad_alloc.
class Pacer {
 public:
  // The most limits of each kind, of requests and of concurrent requests, that are kept per server:
  // those of the latest answers and, of one answer, those with the least left. Servers send a
  // handful; 32 bounds the cost of next() and of matching names against a hostile server.
  static constexpr std::size_t allowances_max = 32;

  Pacer(const Options& options, Instant now);

  // When the next request may begin. No wait is longer than Options::wait_max and its jitter,
  // except that for an answer, which is returned only while a request is under way.
  [[nodiscard]] Next next(Instant now) const noexcept;

  // Records that a request begins, whether or not next() permitted it.
  [[nodiscard]] Request begin(Instant now) noexcept;
  // Applies an answer. At most once per request, before its end().
  void receive(Request& request, const Answer& answer, Instant now);
  // Records the end of a request: exactly once per request. Without receive(): no answer came.
  void end(const Request& request) noexcept;

  // Sets how many requests the caller has still to begin; 0, the initial value: unknown. If the
  // units left are enough for all of them, they are not spread over time.
  void set_backlog(std::uint64_t rest) noexcept { rest_ = rest; }

  // std::nullopt if no limit on requests is in force.
  [[nodiscard]] std::optional<Standing> standing(Instant now) const noexcept;
  [[nodiscard]] const RequestTotals& totals() const noexcept { return totals_; }

 private:
  void receive_members(const Request& request, const Answer& answer, Instant now);
  void receive_member(const field::Member& member, std::size_t ordinal, const Request& request,
                      const Answer& answer, Instant now);
  void forget_other_partitions(const field::ResponseView& view);
  [[nodiscard]] bool limits_known() const noexcept;
  void receive_denial(const Request& request, const field::ResponseView& view, Instant now);
  [[nodiscard]] Instant required_wait_end(Instant now) const noexcept;
  void receive_admission(const Request& request, bool cached) noexcept;
  void back_off(Instant now, std::uint64_t seconds) noexcept;
  void block(Instant now, Nanos wait, Nanos jitter, Why why) noexcept;
  [[nodiscard]] Nanos bounded(std::uint64_t seconds) const noexcept;

  Options options_;
  Jitter jitter_;
  RequestTotals totals_;
  std::uint64_t rest_ = 0;

  // Each in the order in which answers named them last.
  std::vector<Allowance> allowances_;
  std::vector<Slots> slots_;
  Pace ceiling_;
  Learned learned_;

  Next blocked_;                 // by Retry-After or back-off
  std::uint64_t window_ = 1;     // requests that may be without an answer
  std::uint64_t denials_ = 0;    // rounds of denials since the last admission
  std::uint64_t denied_at_ = 0;  // requests up to this number had begun at the last denial
};

}  // namespace headgate::client
