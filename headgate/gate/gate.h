// The gate: match -> charge -> merge -> report.
//
// A door makes one Gate per policy file and store, and calls admit() once per request (admit.cc has
// all steps). Everything is thread-safe, except a DecisionContext, which belongs to one request at
// a time.
//
// The store calls back when it has decided, before the call returns or later, by the mailbox of the
// thread that called (store::Completion); so does every function that takes `done`. Until then the
// context, the gate and the policies are in use: the caller neither uses nor destroys them, also if
// the request has ended. A request that is decided after its end still has to be settled. Callers
// that pass no `done` need a store that completes at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "headgate/base/siphash.h"
#include "headgate/gate/check.h"
#include "headgate/gate/counts.h"
#include "headgate/gate/decision_context.h"
#include "headgate/gate/field_writer.h"
#include "headgate/gate/verdict.h"
#include "headgate/gate/waiting.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/store.h"

namespace headgate::gate {

// yes: every policy decides and counts as if it were in shadow mode.
enum class DryRun : std::uint8_t { no, yes };

// yes: a partition gets back all that it has taken, and what it owes.
enum class Refill : std::uint8_t { no, yes };

class Gate {
 public:
  // `secret` is the key of the hash that makes opaque partition keys for clients; doors that share
  // a table use the table's. `counts` is empty, or consists of shards with one element per policy,
  // and one more for requests: each processor counts in its own shard, so that processors do not
  // contend. The caller owns it and may share it with other processes.
  Gate(std::shared_ptr<const policy::PolicySet> policies, store::Store& store,
       const HashSecret& secret, std::span<PolicyCounts> counts);

  // Counts the requests that wait at `before`, too, for policies of the same names. For a gate that
  // takes its place. To be called before the first request.
  void count_waiting_of(const Gate& before) noexcept;

  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return *policies_; }
  [[nodiscard]] const FieldWriter& field_writer() const noexcept { return field_writer_; }
  [[nodiscard]] store::Store& store() const noexcept { return store_; }

  // Returns the keyed hash of a store key that replaces it where it must not be shown:
  // `partition-key: opaque` sends it to clients.
  [[nodiscard]] Hash128 opaque(std::string_view store_key) const noexcept {
    return public_hash(pk_secret_, store_key);
  }

  // Decides one request as of `now`, or if that is empty, as of the store's clock, which is faster.
  // From the call of `done` until the context is used again, context.verdict is the verdict, and
  // context.now the moment of the decision. The request need not last until then.
  void admit(const policy::Request& request, std::optional<Instant> now, DryRun dry_run,
             DecisionContext& context, store::Completion done = {}) const noexcept;

  // The same in two steps, for a door that has other work while the store's memory is fetched.
  // Returns false if no policy applies; then the verdict is complete. Otherwise nothing is charged
  // or counted until admit(context) is called.
  [[nodiscard]] bool prefetch(const policy::Request& request, std::optional<Instant> now,
                              DryRun dry_run, DecisionContext& context) const noexcept;
  void admit(DecisionContext& context, store::Completion done = {}) const noexcept;

  // A request with Waits::here has waited for Verdict::hold, or has ended before. To be called once
  // for each, by the thread that had it decided or another one; unless waiting() is.
  void end_wait(const Verdict& verdict) const noexcept {
    [[maybe_unused]] const Waiting ended = waiting(verdict);
  }
  // The same, but it waits until the result ends.
  [[nodiscard]] Waiting waiting(const Verdict& verdict) const noexcept;

  // Decides checks of named policies as of `now`: enforced ones all or none, each shadow one as if
  // alone. `op` is spend, peek or refund (for concurrency: release). A spend under a policy whose
  // cost is late is admitted if anything is left, and is then charged its full cost; a peek is
  // admitted as such a spend would be, and shows what it would leave if it cost one unit. Of a
  // policy with a candidate, the numbers in force for the key answer; the others are charged, too,
  // as if alone, unless there are too many checks for that. Returns std::nullopt on success: from
  // the call of `done`, context.results has the checks' results in their order, and context.verdict
  // is as after admit(), without dues. Otherwise nothing was decided, and `done` is not called. The
  // checks need not last until then.
  [[nodiscard]] std::optional<CheckFault> decide(std::span<const Check> checks, limit::Op op,
                                                 std::optional<Instant> now,
                                                 DecisionContext& context,
                                                 store::Completion done = {}) const noexcept;

  // Looks at one partition as of `now`, and takes nothing: from the call of `done`, context.results
  // has what the check's policy would decide about three requests, each as if alone: one that costs
  // nothing, one that costs one unit (and may wait as far as the policy lets requests wait,
  // whatever the context says), and one that costs the whole quota. The wait of the last one is the
  // time until the quota is full, also if it is admitted before; never: not known, also while the
  // store that machines share is away. `refill`: gives the partition a full quota before, also
  // under the numbers that are not in force, and where requests are counted under another window
  // (PolicySet::apart()). The rest is as for decide(); context.verdict has no meaning.
  [[nodiscard]] std::optional<CheckFault> inspect(std::string_view policy, std::string_view key,
                                                  Refill refill, std::optional<Instant> now,
                                                  DecisionContext& context,
                                                  store::Completion done = {}) const noexcept;

  // As decide() with limit::Op::spend. If the verdict is not a denial, its dues have every charge
  // that was taken: what a Reservation needs. A policy with a candidate has two charges.
  [[nodiscard]] std::optional<CheckFault> reserve(std::span<const Check> checks,
                                                  std::optional<Instant> now,
                                                  DecisionContext& context,
                                                  store::Completion done = {},
                                                  const DueRoom& room = {}) const noexcept;

  // Corrects what a reservation has taken. `costs` has what each due really cost; std::nullopt: it
  // stays charged as it is. Slots are released. What was taken too much is given back, unless it
  // has come back by itself; what was taken too little is charged now. From the call of `done`,
  // context.settled says whether that was done. No argument but the context has to last until then.
  // Returns false if memory is short; then nothing was settled, and `done` is not called.
  // `patient`: as store::Bundle, if no decision waits behind this call. `in_force`: as below; it
  // lasts as long as the context.
  [[nodiscard]] bool settle(const Reservation& reservation,
                            std::span<const std::optional<std::uint64_t>> costs,
                            std::optional<Instant> now, DecisionContext& context,
                            store::Completion done = {}, bool patient = false,
                            const Gate* in_force = nullptr) const noexcept;

  // Decides the descriptors of one request of Envoy's rate limit protocol as of `now`, each
  // separately: if one is denied, the others still charge their limits, as with Envoy's own
  // service. `ops` has spend or refund for each descriptor; a spend of 0 checks whether the limit
  // is exceeded. At most policies_per_request_max. The results are those of decide() above; a
  // result without a policy has no limit. Limits in quota mode deny only if all of them do. Returns
  // false if memory is short; then nothing was decided, and `done` is not called. Of the arguments,
  // only the limits that descriptors bring have to last until `done` is called.
  [[nodiscard]] bool decide(std::string_view domain,
                            std::span<const policy::Descriptor> descriptors,
                            std::span<const limit::Op> ops, std::optional<Instant> now,
                            DecisionContext& context, store::Completion done = {}) const noexcept;

  // Settles the dues of a request that was admitted at `taken`. Call it once per request, when the
  // response has ended or failed. A slot that is never released is free again when its lease ends.
  // No argument has to last longer than the call, and the caller need not wait for the store: if
  // that answers later, the charges are copied first. (If there is no memory for the copy, nothing
  // is settled, as if the process had died.)
  //
  // `in_force`: the gate that decides by now, with other policies or overrides and the same store;
  // nullptr: this one. Where a key is under another window, lease or debt there, that law settles
  // it: this one would cut what was spent under it, or give too much back.
  void settle(std::span<const Due> dues, Instant taken, const policy::Response& response,
              std::optional<Instant> now, const Gate* in_force = nullptr) const noexcept;

 private:
  void begin(std::optional<Instant> now, DecisionContext& context) const noexcept;
  template <void (Gate::*next)(DecisionContext&) const noexcept>
  void take(DecisionContext& context) const noexcept;
  // Whether a policy that was named can deny its partition at all.
  [[nodiscard]] static bool has_limit(const policy::Match& match) noexcept {
    return match.policy->mode != policy::Mode::off && !match.grant->unlimited;
  }
  // Of a policy whose cost is late: the cost by which it is decided whether anything is left.
  [[nodiscard]] static std::uint64_t admission_cost(const policy::Match& match) noexcept {
    return match.cost == 0 ? 0 : 1;
  }
  static void note_outages(DecisionContext& context) noexcept;
  std::optional<CheckFault> decide(std::span<const Check> checks, limit::Op op,
                                   DecisionContext& context, store::Completion done,
                                   const DueRoom& room = {}) const noexcept;
  void charge(std::span<const policy::Match> matches, DryRun dry_run, limit::Op op,
              DecisionContext& context) const noexcept;
  static CheckResult result_of(const policy::Match& match, std::string_view asked) noexcept;
  std::optional<CheckFault> match_checks(std::span<const Check> checks, limit::Op op,
                                         DecisionContext& context) const noexcept;
  void merge(DecisionContext& context) const noexcept;
  [[nodiscard]] bool may_wait(DecisionContext& context) const noexcept;
  [[nodiscard]] bool begin_wait(DecisionContext& context) const noexcept;
  void note_wait(DecisionContext& context) const noexcept;
  void merge_checks(DecisionContext& context) const noexcept;
  void merge_inspection(DecisionContext& context) const noexcept;
  static void show_full_wait(DecisionContext& context) noexcept;
  void merge_debits(DecisionContext& context) const noexcept;
  static bool bundle_debits(DecisionContext& context) noexcept;
  static void write_result(const DecisionContext& context, std::size_t charge,
                           CheckResult& result) noexcept;
  static void answer_checks(DecisionContext& context) noexcept;
  void find_waits(DecisionContext& context) const noexcept;
  void merge_descriptors(DecisionContext& context) const noexcept;
  void conclude(DecisionContext& context) const noexcept;
  void list_dues(DecisionContext& context) const noexcept;
  // Units that a request of this grant reserves.
  [[nodiscard]] std::uint64_t reserved(const policy::Policy& policy,
                                       const policy::Grant& grant) const noexcept;
  void learn(const policy::Policy& policy, std::uint64_t cost) const noexcept;
  void settle_marked(DecisionContext& context) const noexcept;
  void settle_first(DecisionContext& context) const noexcept;
  void correct(DecisionContext& context) const noexcept;
  void end_correcting(DecisionContext& context) const noexcept;
  void end_settling(DecisionContext& context) const noexcept;
  void itemise(DecisionContext& context, std::uint64_t jitter) const noexcept;
  void count(const DecisionContext& context) const noexcept;
  // The counts of this processor's shard: one per policy, then that of requests.
  [[nodiscard]] std::span<PolicyCounts> shard() const noexcept;
  using Counter = decltype(&PolicyCounts::admitted);
  void add(Counter counter, const policy::Policy& policy) const noexcept;
  [[nodiscard]] std::optional<store::Charge> charge_of(const Due& due, Instant taken,
                                                       const policy::Response& response,
                                                       Instant now) const noexcept;
  [[nodiscard]] Item item(DecisionContext& context, std::size_t charge) const noexcept;
  [[nodiscard]] std::uint64_t jitter(Nanos wait, const DecisionContext& context) const noexcept;

  std::shared_ptr<const policy::PolicySet> policies_;
  store::Store& store_;
  HashSecret pk_secret_;
  bool settles_ = false;    // whether the charges of any policy leave dues
  bool estimates_ = false;  // whether any policy estimates what it reserves
  // How many requests wait here, for each policy with a delay; empty if none lets them wait.
  std::vector<std::shared_ptr<WaitingCount>> waiting_;
  bool has_candidates_ = false;
  std::span<PolicyCounts> counts_;
  std::size_t shard_size_;  // elements of counts_
  std::size_t shards_;      // in counts_
  FieldWriter field_writer_;
};

// Passes the context's bundles to the store. `next` continues when they are decided.
template <void (Gate::*next)(DecisionContext&) const noexcept>
void Gate::take(DecisionContext& context) const noexcept {
  store_.take(std::span(context.bundles_).first(context.bundle_count_), context.moment_,
              {[](void* of) noexcept {
                 auto& decided = *static_cast<DecisionContext*>(of);
                 note_outages(decided);
                 (decided.gate_->*next)(decided);
               },
               &context, context.done_.home});
}

}  // namespace headgate::gate
