// Replays a trace: each line names policies, and the gate decides it as of the line's own time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/gate/gate.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/answer.h"
#include "headgate/sim/summary.h"
#include "headgate/sim/trace.h"
#include "headgate/store/store.h"

namespace headgate::sim {

// Not thread-safe. Needs a store that completes before it returns; the store's own clock is not
// read.
class Simulator {
 public:
  Simulator(std::shared_ptr<const policy::PolicySet> policies, store::Store& store);

  // Applies one line through gate::Gate::decide(): enforced policies are charged all or none, a
  // shadow policy spends as if alone and denies nothing. Where the cost is known only with the
  // response, the response is taken to end at once: the request is admitted while a unit is left,
  // charged in full, and its result has what is left then. The error says why the line cannot be
  // applied; nothing is charged then.
  [[nodiscard]] Result<Answers, std::string> apply(const TraceLine& line);

  [[nodiscard]] Summary& summary() noexcept { return summary_; }

 private:
  [[nodiscard]] Answers read_answers(const TraceLine& line) const;
  void count(const TraceLine& line, const Answers& answers);

  gate::Gate gate_;
  gate::DecisionContext context_;
  Summary summary_;
  std::vector<gate::Check> checks_;
  std::string buffer_;
};

}  // namespace headgate::sim
