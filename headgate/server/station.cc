#include "headgate/server/station.h"

namespace headgate::server {

Station::Station(Engine& engine)
    : engine_(engine), in_force_(engine.in_force()), ticket_(std::make_unique<gate::Ticket>()) {
  engine_.add(*this);
}

Station::~Station() { engine_.remove(*this); }

const Generation& Station::in_force() {
  if (in_force_->number() != engine_.number()) in_force_ = engine_.in_force();
  return *in_force_;
}

}  // namespace headgate::server
