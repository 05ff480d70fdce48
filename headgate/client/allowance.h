// What one policy leaves to a client, as far as the client knows.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/client/next.h"
#include "headgate/client/options.h"
#include "headgate/client/pace.h"
#include "headgate/client/request.h"
#include "headgate/field/read/member.h"

namespace headgate::client {

// One policy and partition that a server named: "r more units in the next t seconds".
//
// An answer's r counts for the moment when the server decided that request. From it goes every
// other request that may have been decided later: those that were under way, and those that began
// since. So an answer covers requests up to a number, whatever the order of answers, and requests
// with greater numbers wait. When t is over, nobody knows what is left; it is more than r, so one
// more request may go and ask.
//
// Where an answer shows that less is left than this client alone can have left, others share the
// partition: then it goes the slower the less is left, so that all of them together settle where
// something is always left.
class Allowance {
 public:
  // What an answer told about it, with what the pacer knows of that answer.
  struct Told {
    const field::Member& member;
    Request request;  // that was answered
    bool denied;
    Nanos t;                 // believed; counts from `now`
    Nanos jitter;            // to be added to it
    const Traffic& traffic;  // including that answer
    Instant now;             // when it came
  };

  // A name that nothing was told about yet.
  Allowance(std::string_view policy, std::string_view pk, std::size_t ordinal, Instant now);

  [[nodiscard]] bool is(std::string_view policy, std::string_view pk,
                        std::size_t ordinal) const noexcept {
    return ordinal_ == ordinal && policy_ == policy && pk_ == pk;
  }
  [[nodiscard]] const std::string& policy() const noexcept { return policy_; }
  [[nodiscard]] const std::string& pk() const noexcept { return pk_; }

  void hear(const Told& told, const Options& options);
  void begin(std::uint64_t number, Instant now) noexcept;
  void lost(std::uint64_t number) noexcept;

  // `rest`: how many requests are still to begin, 0 if unknown. If all of them are covered, paces
  // do not matter.
  [[nodiscard]] Next next(Instant now, const Traffic& traffic, Mode mode,
                          std::uint64_t rest) const noexcept;

  // Whether its time was over when a request began that was answered, and the answer has told
  // nothing about it: the server has dropped it, or changed its name.
  [[nodiscard]] bool vanished(const Request& answered) const noexcept {
    return probe_ != 0 && answered.number >= probe_;
  }

  // Whether it counts requests, and how many are left of them.
  [[nodiscard]] bool counts() const noexcept { return covered_ != everything; }
  [[nodiscard]] std::uint64_t left(const Traffic& traffic) const noexcept {
    return covered_ > traffic.begun ? covered_ - traffic.begun : 0;
  }
  [[nodiscard]] std::optional<std::uint64_t> quota() const noexcept { return quota_; }
  [[nodiscard]] Instant until() const noexcept { return until_; }

 private:
  static constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

  void compare(std::uint64_t r, std::uint64_t covers, const Told& told) noexcept;
  [[nodiscard]] std::uint64_t enough() const noexcept;
  [[nodiscard]] Nanos interval(std::uint64_t r, const Told& told,
                               const Options& options) const noexcept;

  std::string policy_;
  std::string pk_;
  std::size_t ordinal_;  // among the members of one answer with this name and key
  std::optional<std::uint64_t> quota_;
  std::uint64_t most_left_ = 0;  // the quota, or the greatest r that was told

  std::uint64_t newest_ = 0;   // request whose answer counts
  std::uint64_t covered_ = 0;  // requests up to this number may go
  Instant until_;              // end of t
  Nanos jitter_ = 0;           // of a wait until then
  std::uint64_t probe_ = 0;    // request that went after the end of t, to ask
  Pace pace_;

  // An answer that later ones are compared with.
  struct Compared {
    std::uint64_t answered = 0;  // requests answered when it had come
    std::uint64_t covers = 0;
    std::uint64_t r = 0;
    Instant at;
  };
  Compared compared_;
  bool windows_ = false;  // what is spent comes back all at once
  bool shared_ = false;
};

}  // namespace headgate::client
