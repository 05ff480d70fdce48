#include "headgate/server/worker_context.h"

namespace headgate::server {

WorkerContext::WorkerContext(Engine& engine)
    : engine_(engine),
      in_force_(engine.in_force()),
      jobs_(answers_),
      answers_(!engine.store().completes_at_once()) {
  engine_.add(*this);
}

WorkerContext::~WorkerContext() { engine_.remove(*this); }

const PolicySnapshot& WorkerContext::in_force() {
  if (in_force_->number() != engine_.number()) in_force_ = engine_.in_force();
  return *in_force_;
}

DecisionJob* WorkerContext::begin() {
  DecisionJob* const job = jobs_.spare();
  if (job == nullptr) return nullptr;
  job->snapshot = &in_force();
  job->began = now();
  job->decision.waits = gate::Waits::no;
  return job;
}

}  // namespace headgate::server
