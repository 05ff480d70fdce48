// The gate: match -> charge -> merge -> report.
//
// A door makes one Gate per policy file and store, and asks admit() once per request (admit.cc is
// the whole walk). Everything is thread-safe, except a DecisionContext, which belongs to one
// request at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "headgate/base/siphash.h"
#include "headgate/gate/check.h"
#include "headgate/gate/counts.h"
#include "headgate/gate/decision_context.h"
#include "headgate/gate/field_writer.h"
#include "headgate/gate/verdict.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/store.h"

namespace headgate::gate {

// yes: every policy decides and counts as if it were in shadow mode.
enum class DryRun : std::uint8_t { no, yes };

class Gate {
 public:
  // `secret` keys the partition keys that clients see; doors of one table use the table's.
  // `counts` may be shared with other processes; the caller owns them. They are empty, or shards of
  // one per policy: each processor counts in a shard, so that they needn't wait for each other.
  Gate(std::shared_ptr<const policy::PolicySet> policies, store::Store& store,
       const HashSecret& secret, std::span<PolicyCounts> counts);

  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return *policies_; }
  [[nodiscard]] const FieldWriter& field_writer() const noexcept { return field_writer_; }
  [[nodiscard]] store::Store& store() const noexcept { return store_; }

  // Stands for a store key where it must not be shown itself: it is what `partition-key: opaque`
  // tells clients.
  [[nodiscard]] Hash128 opaque(std::string_view store_key) const noexcept {
    return public_hash(pk_secret_, store_key);
  }

  // Decides one request as of `now`, or without one as of the store's clock, which is the faster
  // way. The verdict is context.verdict, and the moment context.now, from when `done` is called
  // until the context is used again.
  void admit(const policy::Request& request, std::optional<Instant> now, DryRun dry_run,
             DecisionContext& context, store::Completion done = {}) const noexcept;

  // The same in two steps, for a door that has work of its own while the store's memory is on its
  // way. False: no policy applies, and the verdict is there. Otherwise admit() follows, or nothing
  // has happened.
  [[nodiscard]] bool prefetch(const policy::Request& request, std::optional<Instant> now,
                              DryRun dry_run, DecisionContext& context) const noexcept;
  void admit(DecisionContext& context, store::Completion done = {}) const noexcept;

  // Decides checks of named policies as of `now`: enforced ones all or none, each shadow one as if
  // alone. `op` is spend, peek or refund (of concurrency: release). A spend under a policy whose
  // cost is late is admitted where anything is left, and then charged whatever it costs.
  // std::nullopt: done; context.results answers the checks in their order, and context.verdict is
  // as admit() leaves it, without dues. Otherwise nothing was decided. Completes before it returns,
  // and needs a store that does.
  [[nodiscard]] std::optional<CheckFault> decide(std::span<const Check> checks, limit::Op op,
                                                 Instant now,
                                                 DecisionContext& context) const noexcept;

  // Decides the descriptors of one request of Envoy's rate limit protocol as of `now`, each for
  // itself, as Envoy's users expect: what one denies, another one still counts. `ops`, of the same
  // number, says spend or refund for each; one that spends 0 asks whether its limit is exceeded.
  // At most policies_max. Answers as decide() does; a result without a policy has no limit.
  // Limits of quota mode deny only where all of them do. False: out of memory, nothing was decided.
  [[nodiscard]] bool decide(std::string_view domain,
                            std::span<const policy::Descriptor> descriptors,
                            std::span<const limit::Op> ops, Instant now,
                            DecisionContext& context) const noexcept;

  // Settles the dues of a request that was admitted at `taken`, once, when its response has ended
  // in whichever way. A slot that is never released comes back with its lease.
  void settle(std::span<const Due> dues, Instant taken, const policy::Response& response,
              Instant now) const noexcept;

 private:
  void charge(std::span<const policy::Match> matches, DryRun dry_run, limit::Op op,
              DecisionContext& context) const noexcept;
  std::optional<CheckFault> name(std::span<const Check> checks,
                                 DecisionContext& context) const noexcept;
  void debit_late(std::span<const Check> checks, DecisionContext& context) const noexcept;
  void ask_where_nothing_is_left(DecisionContext& context) const noexcept;
  static void merge(DecisionContext& context) noexcept;
  void conclude(DecisionContext& context) const noexcept;
  void list_dues(DecisionContext& context) const noexcept;
  void itemise(DecisionContext& context, std::uint64_t jitter) const noexcept;
  void count(const DecisionContext& context) const noexcept;
  // This processor's counts, from the first policy on.
  [[nodiscard]] std::span<PolicyCounts> shard() const noexcept;
  void add(std::atomic<std::uint64_t> PolicyCounts::*counter,
           const policy::Policy& policy) const noexcept;
  [[nodiscard]] Item item(DecisionContext& context, std::size_t charge) const noexcept;
  [[nodiscard]] std::uint64_t jitter(Nanos wait, const DecisionContext& context) const noexcept;

  std::shared_ptr<const policy::PolicySet> policies_;
  store::Store& store_;
  HashSecret pk_secret_;
  PolicyBits settled_;  // policies whose charges have dues
  std::span<PolicyCounts> counts_;
  std::size_t shards_;  // in counts_
  FieldWriter field_writer_;
};

}  // namespace headgate::gate
