// The state that a thread of the server needs to decide.
#pragma once

#include <memory>

#include "headgate/gate/decision_context.h"
#include "headgate/server/engine.h"
#include "headgate/server/stats/decision_stats.h"

namespace headgate::server {

// One per Worker. Not thread-safe, except stats() const.
class WorkerContext {
 public:
  explicit WorkerContext(Engine& engine);
  ~WorkerContext();
  WorkerContext(const WorkerContext&) = delete;
  WorkerContext& operator=(const WorkerContext&) = delete;

  [[nodiscard]] Engine& engine() noexcept { return engine_; }

  // Returns the policies in force now; called once per decision. Ends the life of the snapshot that
  // was returned before if another one is in force, and of decision contexts that point into it.
  [[nodiscard]] const PolicySnapshot& in_force();

  // Working memory of one decision at a time.
  [[nodiscard]] gate::DecisionContext& decision_context() noexcept { return *decision_context_; }

  [[nodiscard]] Instant now() const noexcept { return engine_.table().now(); }

  // Statistics of this worker's decisions and connections.
  [[nodiscard]] DecisionStats& stats() noexcept { return stats_; }
  [[nodiscard]] const DecisionStats& stats() const noexcept { return stats_; }

 private:
  Engine& engine_;
  std::shared_ptr<const PolicySnapshot> in_force_;
  std::unique_ptr<gate::DecisionContext> decision_context_;
  DecisionStats stats_;
};

}  // namespace headgate::server
