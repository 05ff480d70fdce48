// Boulder's token buckets with Boulder's own operations (spend, check, refund, batches), on top of
// the linear law. Boulder's vectors are replayed through it (boulder_test.cc).
//
// One rule is added to the law: a TAT is never later than the time to fill an empty bucket, so that
// a clock that went back does not lock a client out. Pure: the buckets' states are the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/limit/boulder.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/linear.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

// Misuse. It is not a denial, and changes no state.
enum class BoulderError : std::uint8_t {
  cost_negative,
  cost_over_burst,
  duplicate_bucket,  // the same bucket twice in one batch
};

// What Boulder reports about a bucket, and what the fields do.
struct BoulderAnswer {
  bool unlimited = false;  // no bucket had a part in the decision
  Decision decision;   // admitted: Boulder's `allowed`; remaining and reset: r and t of the fields
  Nanos retry_in = 0;  // until the same request would be admitted, also after an admission [ns]
  Nanos reset_in = 0;  // until the bucket is full [ns]
};

struct BoulderCharge;

class BoulderLimit {
 public:
  using Tat = LinearExact::State;  // [ns]; a bucket that is new or was reset has none and is full

  // std::nullopt where boulder_quota() has no quota.
  [[nodiscard]] static std::optional<BoulderLimit> make(std::uint64_t burst, std::uint64_t count,
                                                        Nanos period,
                                                        Reset reset = Reset::pace) noexcept;

  [[nodiscard]] const Quota& quota() const noexcept { return quota_; }

  // Gives tokens back, at most up to a full bucket; not `admitted` if the bucket was full already.
  // A cost of 0 only reads the bucket.
  [[nodiscard]] Result<BoulderAnswer, BoulderError> refund(std::optional<Tat>& tat,
                                                           std::int64_t cost,
                                                           Instant now) const noexcept;

 private:
  friend Result<BoulderAnswer, BoulderError> boulder_batch(std::span<const BoulderCharge>,
                                                           Instant) noexcept;

  BoulderLimit(const Quota& quota, const LinearExact& law) noexcept : quota_(quota), law_(law) {}

  [[nodiscard]] std::optional<BoulderError> refusal(std::int64_t cost) const noexcept;
  void limit_tat(std::optional<Tat>& tat, Instant now) const noexcept;
  [[nodiscard]] BoulderAnswer spend_answer(const std::optional<Tat>& tat, std::uint64_t cost,
                                           Instant now) const noexcept;

  Quota quota_;
  LinearExact law_;
};

// One bucket's part in a request.
struct BoulderCharge {
  enum class Kind : std::uint8_t {
    check_spend,  // has a part in the decision; takes tokens if the request is allowed
    check,        // has a part in the decision; takes nothing
    spend,        // has no part in the decision; takes tokens if the bucket has enough
    allow,        // no effect: its limit is not configured
  };

  const BoulderLimit* limit = nullptr;  // may be nullptr for `allow`
  std::string_view bucket;              // the bucket's key, to find duplicates
  std::int64_t cost = 1;
  Kind kind = Kind::check_spend;
  std::optional<BoulderLimit::Tat>* tat = nullptr;
};

// Takes all charges of one request, or none of them. Returns the strictest answer of the charges
// that have a part in the decision: a denial before an admission, then the longer retry_in, then
// the fewer remaining. Quadratic in the number of charges, which is small.
[[nodiscard]] Result<BoulderAnswer, BoulderError> boulder_batch(
    std::span<const BoulderCharge> charges, Instant now) noexcept;

}  // namespace headgate::limit
