// One way of limiting through which traffic is replayed: policies with their own gate and table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/gate/gate.h"
#include "headgate/sim/answer.h"
#include "headgate/sim/log/logged_request.h"
#include "headgate/sim/summary.h"
#include "headgate/store/table.h"

namespace headgate::sim {

// Not thread-safe. Time is that of the requests, which must come in order of time.
class Scenario {
 public:
  // `memory` [bytes] is for the state of all keys. The error says why the table cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<Scenario>, std::string> open(
      std::shared_ptr<const policy::PolicySet> policies, std::size_t memory, Watch watch = {});

  // Decides a request that began at `now`. Its response ends when the log has it; costs and slots
  // are settled then. The context is valid until the next call.
  const gate::DecisionContext& play(const LoggedRequest& record, Instant now);

  // The line of the decisions file for the last play().
  [[nodiscard]] Answers answers() const;

  // Whether the last play() denied the request.
  [[nodiscard]] bool denied() const noexcept {
    return context_.verdict.outcome == gate::Outcome::denied;
  }

  // Calls act(match, decision, taken) for each policy that decided the last play(). A policy that
  // would have admitted a request that another one denied took nothing, and is left out.
  template <class Act>
  void each_answer(const Act& act) const {
    for (std::size_t i = 0; i < context_.decided(); ++i) {
      const gate::PolicyDecision one = context_.decision(i);
      if (one.decision.admitted && !one.taken) continue;
      act(one.match, one.decision, one.taken);
    }
  }

  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return gate_.policies(); }
  [[nodiscard]] Summary& summary() noexcept { return summary_; }
  [[nodiscard]] const Summary& summary() const noexcept { return summary_; }
  // Moves the summary out, so that it can outlive the scenario and its table. The policies must
  // outlive the summary.
  [[nodiscard]] Summary take_summary() noexcept { return std::move(summary_); }

  // Number of decisions on keys that found no room. They may have been too strict.
  [[nodiscard]] std::uint64_t unkept() const noexcept;

 private:
  // A request whose response has not ended yet.
  struct Pending {
    Instant ends;
    Instant began;
    unsigned status;
    std::uint64_t bytes;
    std::vector<gate::Due> dues;
    std::vector<std::string> keys;  // of the dues
    std::vector<std::pair<std::string, std::string>> headers;
    friend bool operator>(const Pending& a, const Pending& b) { return a.ends > b.ends; }
  };

  Scenario(std::shared_ptr<const policy::PolicySet> policies, std::unique_ptr<store::Table> table,
           Watch watch);

  void settle_until(Instant now);
  void postpone(const LoggedRequest& record, Instant began);
  void count(const LoggedRequest& record, Instant now);

  std::unique_ptr<store::Table> table_;
  gate::Gate gate_;
  gate::DecisionContext context_;
  Summary summary_;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
};

}  // namespace headgate::sim
