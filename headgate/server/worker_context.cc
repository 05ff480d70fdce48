#include "headgate/server/worker_context.h"

namespace headgate::server {

WorkerContext::WorkerContext(Engine& engine)
    : engine_(engine),
      in_force_(engine.in_force()),
      decision_context_(std::make_unique<gate::DecisionContext>()) {
  engine_.add(*this);
}

WorkerContext::~WorkerContext() { engine_.remove(*this); }

const PolicySnapshot& WorkerContext::in_force() {
  if (in_force_->number() != engine_.number()) in_force_ = engine_.in_force();
  return *in_force_;
}

}  // namespace headgate::server
