// What one thread needs to decide.
#pragma once

#include <memory>

#include "headgate/gate/ticket.h"
#include "headgate/server/engine.h"
#include "headgate/server/sight.h"

namespace headgate::server {

// Not thread-safe, except sight() const: one per thread.
class Station {
 public:
  explicit Station(Engine& engine);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  [[nodiscard]] Engine& engine() noexcept { return engine_; }

  // The policy file in force now: ask once a decision. What was returned before, and the tickets
  // that were decided by it, are void.
  [[nodiscard]] const Generation& in_force();

  // Working memory of one decision at a time.
  [[nodiscard]] gate::Ticket& ticket() noexcept { return *ticket_; }

  [[nodiscard]] Instant now() const noexcept { return engine_.table().now(); }

  // What this station has seen.
  [[nodiscard]] Sight& sight() noexcept { return sight_; }
  [[nodiscard]] const Sight& sight() const noexcept { return sight_; }

 private:
  Engine& engine_;
  std::shared_ptr<const Generation> in_force_;
  std::unique_ptr<gate::Ticket> ticket_;
  Sight sight_;
};

}  // namespace headgate::server
