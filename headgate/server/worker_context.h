// The state that a thread of the server needs to decide.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "headgate/server/answers.h"
#include "headgate/server/decision_ticket.h"
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

  // Returns the policies in force now. Ends the life of the snapshot that was returned before if
  // another one is in force, and of decisions that point into it and were not lent.
  [[nodiscard]] const PolicySnapshot& in_force();

  // A decision of a door goes like this: begin(); a function of ticket->snapshot's gate, with
  // moment() as its time and ticket->begin() as its completion; if the ticket is not decided then,
  // lend(), and the rest when `then` is called; record().

  // Begins a decision, of the policies in force now. The ticket is free until it is lent. nullptr:
  // too many decisions wait for the store, see too_many_wait. Throws std::bad_alloc.
  [[nodiscard]] DecisionTicket* begin();
  static constexpr std::string_view too_many_wait = "too many decisions wait for the store";
  // The time as of which the store decides, if that is not its own.
  [[nodiscard]] std::optional<Instant> moment(const DecisionTicket& ticket) const noexcept {
    return answers_.come_later() ? std::nullopt : std::optional(ticket.began);
  }
  // The decision of begin() is outstanding.
  [[nodiscard]] Ticket::Held<DecisionTicket> lend(Resume then) noexcept {
    return tickets_.lend(in_force_, then);
  }
  // Records a decision in the statistics, with the time from begin() until now.
  void record(DoorKind door, const DecisionTicket& ticket) noexcept {
    const Instant now = this->now();
    stats_.decided(door, *ticket.snapshot, ticket.decision, now, now.ns - ticket.began.ns);
  }

  [[nodiscard]] Answers& answers() noexcept { return answers_; }

  // The table's clock.
  [[nodiscard]] Instant now() const noexcept { return engine_.table().now(); }

  // Statistics of this worker's decisions and connections.
  [[nodiscard]] DecisionStats& stats() noexcept { return stats_; }
  [[nodiscard]] const DecisionStats& stats() const noexcept { return stats_; }

 private:
  Engine& engine_;
  std::shared_ptr<const PolicySnapshot> in_force_;
  DecisionStats stats_;
  DecisionTickets tickets_;
  Answers answers_;  // ends first: then no ticket is lent any more
};

}  // namespace headgate::server
