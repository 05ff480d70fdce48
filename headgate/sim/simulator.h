// Drives a store through a policy file's policies in a time of the caller's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/answer.h"
#include "headgate/sim/summary.h"
#include "headgate/sim/trace.h"
#include "headgate/store/store.h"

namespace headgate::sim {

// Not thread-safe. The store's own clock is not read: each line brings its time.
class Simulator {
 public:
  Simulator(std::shared_ptr<const policy::PolicySet> policies, store::Store& store);

  // Applies one line. Its enforced policies are charged all or none. A shadow policy spends as if
  // alone and denies nothing; its result tells what it would have decided. Where only responses
  // tell the cost, the response is taken to end at once: the request is admitted while a unit is
  // left, charged in full, and its result tells what is left then. The error says why the line
  // can't be applied; nothing is charged then.
  [[nodiscard]] Result<Answers, std::string> apply(const TraceLine& line);

  [[nodiscard]] Summary& summary() noexcept { return summary_; }

 private:
  std::shared_ptr<const policy::PolicySet> policies_;
  store::Store& store_;
  Summary summary_;
  std::vector<std::string> keys_;  // of the line at hand
};

}  // namespace headgate::sim
