// The desk: match -> charge -> merge -> report.
//
// A door makes one Gate per policy file and store, and asks admit() once per request. Everything
// is thread-safe except Ticket, which belongs to one request at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/writer.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/store.h"

namespace headgate::gate {

enum class Outcome : std::uint8_t {
  off,            // no policy applied
  admitted,       // every policy that applied admitted
  shadow_denied,  // admitted, but a shadow policy would have denied
  denied,
};

// One bit per policy, by its index in the file.
using PolicyBits = std::uint64_t;
static_assert(policy::policies_max <= 64);

// What the fields say of one policy: small, so that a door can keep it until the response.
struct Item {
  std::uint32_t policy = 0;     // index in the file
  std::uint32_t grant = 0;      // index in its grants
  std::uint64_t remaining = 0;  // r
  std::uint64_t reset = 0;      // t [s], or limit::Decision::no_reset
  std::array<char, 16> pk{};    // with partition-key: opaque
  std::string_view plain_pk;    // with partition-key: plain; points into the Ticket
};

struct Verdict {
  Outcome outcome = Outcome::off;
  const policy::Policy* denier = nullptr;    // the denial with the longest wait
  std::optional<std::uint64_t> retry_after;  // [s], jitter included; absent: waiting never helps
  PolicyBits violated = 0;                   // enforced policies that denied
  PolicyBits shadow_violated = 0;
  PolicyBits refundable = 0;                 // charged policies that have a refund-on
  std::optional<std::uint64_t> remaining;    // least r of the enforced policies
  std::span<const Item> items;               // what to report, in file order; in the Ticket

  // Status of the denial: the denier's.
  [[nodiscard]] unsigned status() const noexcept { return denier == nullptr ? 429 : denier->status; }
};

// Working memory of one request, from admit() until its verdict has been used. Large; reuse it.
struct Ticket {
  policy::Scratch scratch;
  std::size_t matched = 0;
  std::array<limit::Charge, policy::policies_max> charges;
  std::array<limit::Decision, policy::policies_max> decisions;
  std::array<store::Bundle, policy::policies_max + 1> bundles;
  std::array<Item, policy::policies_max> items;
  Verdict verdict;
};

struct PolicyCounts {
  std::atomic<std::uint64_t> admitted{0};
  std::atomic<std::uint64_t> denied{0};
  std::atomic<std::uint64_t> shadow_denied{0};
  std::atomic<std::uint64_t> refunded{0};
  std::atomic<std::uint64_t> cost_defaulted{0};
};

enum class DryRun : std::uint8_t { no, yes };  // yes: every policy decides as if in shadow mode

class Gate {
 public:
  // `counts` (one per policy, or empty) lets processes share counters; the caller owns it.
  Gate(std::shared_ptr<const policy::PolicySet> policies, store::Store& store,
       std::span<PolicyCounts> counts);

  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return *policies_; }
  [[nodiscard]] store::Store& store() const noexcept { return store_; }

  // Decides one request as of `now` (from store().now()). The verdict is ticket.verdict, valid
  // when `done` has been called and until the ticket is reused.
  void admit(const policy::Request& request, Instant now, DryRun dry_run, Ticket& ticket,
             store::Completion done = {}) const noexcept;

  // Gives back `cost` units of one policy's key, as charged by admit().
  void refund(const policy::Match& match, Instant now) const noexcept;

 private:
  std::shared_ptr<const policy::PolicySet> policies_;
  store::Store& store_;
  std::span<PolicyCounts> counts_;
};

}  // namespace headgate::gate
