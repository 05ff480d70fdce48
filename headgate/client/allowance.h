// How many requests one policy still permits to this client.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "headgate/client/limit_id.h"
#include "headgate/client/next.h"
#include "headgate/client/options.h"
#include "headgate/client/pace.h"
#include "headgate/client/request.h"
#include "headgate/field/read/member.h"

namespace headgate::client {

// One policy and partition that a server named: "r more units in the next t seconds".
//
// The r of an answer is true for the moment at which the server decided that request. Every other
// request that the server may have decided later is subtracted from it: those that were under way,
// and those that began since. So an answer covers all requests up to a number, in whatever order
// answers come, and requests with greater numbers wait. When t is over, what is left is unknown but
// more than r, so one request (the probe) may be sent, and its answer says what is left.
//
// If an answer shows that less is left than this client alone can have left, other clients share
// the partition. Then this client sends more slowly the less is left, so that the clients together
// reach a rate at which something is always left.
class Allowance {
 public:
  // What an answer said about this policy, and what the pacer has recorded about that answer.
  struct Received {
    const field::Member& member;
    Request request;  // the answered request
    bool denied;
    Nanos t;                      // as limited by Options; counts from `now`
    Nanos jitter;                 // to be added to t
    const RequestTotals& totals;  // including that answer
    Instant now;                  // when the answer came
  };

  // No answer has been received for it yet.
  Allowance(LimitId id, Instant now) : id_(std::move(id)), until_(now), pace_(now) {}

  [[nodiscard]] const LimitId& id() const noexcept { return id_; }

  // Applies an answer; ignores one to a request that began before the newest answered one.
  void update(const Received& received, const Options& options);
  // Request `number` begins.
  void begin(std::uint64_t number, Instant now) noexcept;
  // Request `number` ended and said nothing about this policy. If it was the probe, another request
  // may be sent as the probe.
  void lost(std::uint64_t number) noexcept;

  // When the next request may begin, as far as this policy matters. `rest`: how many requests are
  // still to begin, 0 if unknown; if all of them are covered, they are not paced.
  [[nodiscard]] Next next(Instant now, const RequestTotals& totals, Mode mode,
                          std::uint64_t rest) const noexcept;

  // Whether `answered` began after t was over and its answer did not name this policy: the server
  // has dropped the policy or changed its name.
  [[nodiscard]] bool vanished(const Request& answered) const noexcept {
    return probe_ != 0 && answered.number >= probe_;
  }

  // Whether this policy limits requests (or has none left), and how many requests it still covers.
  [[nodiscard]] bool counts() const noexcept { return covered_ != everything; }
  [[nodiscard]] std::uint64_t left(const RequestTotals& totals) const noexcept {
    return covered_ > totals.begun ? covered_ - totals.begun : 0;
  }
  [[nodiscard]] std::optional<std::uint64_t> quota() const noexcept { return quota_; }
  [[nodiscard]] Instant until() const noexcept { return until_; }

 private:
  // The value of covered_ if there is no limit on requests.
  static constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

  void compare(std::uint64_t r, std::uint64_t covers, const Received& received) noexcept;
  [[nodiscard]] std::uint64_t enough() const noexcept;
  [[nodiscard]] Nanos interval(std::uint64_t r, const Received& received,
                               const Options& options) const noexcept;

  LimitId id_;
  std::optional<std::uint64_t> quota_;
  std::uint64_t most_left_ = 0;  // the quota, or the greatest r that was received

  std::uint64_t newest_ = 0;   // request whose answer is in force
  std::uint64_t covered_ = 0;  // requests up to this number may begin
  Instant until_;              // end of t
  Nanos jitter_ = 0;           // added to a wait until then
  std::uint64_t probe_ = 0;    // first request that began after the end of t; 0: none
  Pace pace_;

  // The answer with which the next one is compared.
  struct Compared {
    std::uint64_t answered = 0;  // number of requests answered by then, this one included
    std::uint64_t covers = 0;
    std::uint64_t r = 0;
    Instant at;
  };
  Compared compared_;
  bool windows_ = false;  // spent units come back all at once, as in a fixed window
  bool shared_ = false;   // other clients spend from this partition
};

}  // namespace headgate::client
