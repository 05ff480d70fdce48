// Token buckets as Boulder (the software of Let's Encrypt) counts them: the linear law, asked and
// answered in Boulder's way.
//
// Boulder adds one token each floor(period / count) nanoseconds, so its real rate is never below
// the one that its file names. With quota = burst and window = burst * that interval, the linear
// law's tat is Boulder's TAT, and every decision is the same. One rule is added: a TAT is never
// further ahead than a whole bucket, so that a clock that went back doesn't lock a client out.
//
// Pure: the buckets' states are the caller's. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/linear.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

// Misuse, which is no denial and changes nothing.
enum class BoulderError : std::uint8_t {
  cost_negative,
  cost_over_burst,
  duplicate_bucket,  // twice in one batch
};

// What Boulder tells of a bucket, and what the fields do.
struct BoulderAnswer {
  bool unlimited = false;  // nothing was there to ask
  Decision decision;       // admitted: `allowed`; remaining; r and t of the fields
  Nanos retry_in = 0;      // until the same request would be admitted, also after an admission [ns]
  Nanos reset_in = 0;      // until the bucket is full [ns]
};

struct BoulderCharge;

class BoulderLimit {
 public:
  using Tat = LinearExact::State;  // [ns]; a bucket never seen, or reset, has none and is full

  // std::nullopt unless burst, count and period [ns] are positive, a token takes at least one
  // nanosecond, and a bucket is full within what the linear law can count.
  [[nodiscard]] static std::optional<BoulderLimit> make(std::uint64_t burst, std::uint64_t count,
                                                        Nanos period,
                                                        Reset reset = Reset::pace) noexcept;

  // The same limit as a quota, for any store's linear law.
  [[nodiscard]] const Quota& quota() const noexcept { return quota_; }

  // Gives tokens back, at most up to a full bucket; not allowed where it is full already. A cost of
  // 0 gives nothing and only answers.
  [[nodiscard]] Result<BoulderAnswer, BoulderError> refund(std::optional<Tat>& tat,
                                                           std::int64_t cost,
                                                           Instant now) const noexcept;

 private:
  friend Result<BoulderAnswer, BoulderError> boulder_batch(std::span<const BoulderCharge>,
                                                           Instant) noexcept;

  BoulderLimit(const Quota& quota, const LinearExact& law) noexcept : quota_(quota), law_(law) {}

  [[nodiscard]] std::optional<BoulderError> refusal(std::int64_t cost) const noexcept;
  void settle(std::optional<Tat>& tat, Instant now) const noexcept;
  [[nodiscard]] BoulderAnswer judge(const std::optional<Tat>& tat, std::uint64_t cost,
                                    Instant now) const noexcept;

  Quota quota_;
  LinearExact law_;
};

// One bucket's part in a request.
struct BoulderCharge {
  enum class Kind : std::uint8_t {
    check_spend,  // decides, and takes if all others are admitted too
    check,        // decides and takes nothing
    spend,        // takes if it can, and decides nothing
    allow,        // of a limit that is not configured: no part in it at all
  };

  const BoulderLimit* limit = nullptr;  // may be nullptr for `allow`
  std::string_view bucket;              // which tells duplicates
  std::int64_t cost = 1;
  Kind kind = Kind::check_spend;
  std::optional<BoulderLimit::Tat>* tat = nullptr;
};

// All charges of one request, taken all or none. The answer is the strictest of those that decide:
// a denial, then the longer retry_in, then the fewer remaining. Quadratic in their number, which
// is small.
[[nodiscard]] Result<BoulderAnswer, BoulderError> boulder_batch(
    std::span<const BoulderCharge> charges, Instant now) noexcept;

}  // namespace headgate::limit
