// What one thread needs to decide.
#pragma once

#include <memory>

#include "headgate/gate/decision_context.h"
#include "headgate/server/engine.h"
#include "headgate/server/stats/decision_stats.h"

namespace headgate::server {

// Not thread-safe, except stats() const: one per thread.
class WorkerContext {
 public:
  explicit WorkerContext(Engine& engine);
  ~WorkerContext();
  WorkerContext(const WorkerContext&) = delete;
  WorkerContext& operator=(const WorkerContext&) = delete;

  [[nodiscard]] Engine& engine() noexcept { return engine_; }

  // The policy file in force now: ask once a decision. What was returned before, and the contexts
  // that were decided by it, are void.
  [[nodiscard]] const PolicySnapshot& in_force();

  // Working memory of one decision at a time.
  [[nodiscard]] gate::DecisionContext& decision_context() noexcept { return *context_; }

  [[nodiscard]] Instant now() const noexcept { return engine_.table().now(); }

  // What this worker has seen.
  [[nodiscard]] DecisionStats& stats() noexcept { return stats_; }
  [[nodiscard]] const DecisionStats& stats() const noexcept { return stats_; }

 private:
  Engine& engine_;
  std::shared_ptr<const PolicySnapshot> in_force_;
  std::unique_ptr<gate::DecisionContext> context_;
  DecisionStats stats_;
};

}  // namespace headgate::server
