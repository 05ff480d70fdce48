#include "headgate/server/worker_context.h"

namespace headgate::server {

WorkerContext::WorkerContext(Engine& engine)
    : engine_(engine),
      in_force_(engine.in_force()),
      tickets_(answers_),
      answers_(!engine.store().completes_at_once()) {
  engine_.add(*this);
}

WorkerContext::~WorkerContext() { engine_.remove(*this); }

const PolicySnapshot& WorkerContext::in_force() {
  if (in_force_->number() != engine_.number()) in_force_ = engine_.in_force();
  return *in_force_;
}

DecisionTicket* WorkerContext::begin() {
  DecisionTicket* const ticket = tickets_.spare();
  if (ticket == nullptr) return nullptr;
  ticket->snapshot = &in_force();
  ticket->began = now();
  return ticket;
}

}  // namespace headgate::server
