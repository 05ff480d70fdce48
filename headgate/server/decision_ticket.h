// Decisions of a worker: working memory that is used again, and what has to last until an answer.
#pragma once

#include <cstddef>
#include <memory>

#include "headgate/base/instant.h"
#include "headgate/gate/decision_context.h"
#include "headgate/server/answers.h"
#include "headgate/server/policy_snapshot.h"
#include "headgate/server/ticket.h"

namespace headgate::server {

class DecisionTickets;

class DecisionTicket final : public Ticket {
 public:
  DecisionTicket(Answers& answers, DecisionTickets& from) noexcept : Ticket(answers), from_(from) {}

  gate::DecisionContext decision;
  const PolicySnapshot* snapshot = nullptr;  // that decides
  Instant began;                             // by the clock of WorkerContext::now()
  std::shared_ptr<const void> limits;        // that came with the request: last until the answer

 private:
  friend class DecisionTickets;

  // A slot that was taken for an auth query without a client would be taken until its lease ends.
  void undo() noexcept override;
  void end() noexcept override;

  DecisionTickets& from_;
  std::shared_ptr<const PolicySnapshot> keeps_;  // `snapshot`, while it is lent
  std::unique_ptr<DecisionTicket> next_;         // among those that are free
};

// With a store that completes at once, there is one ticket. Not thread-safe.
class DecisionTickets {
 public:
  // Throws std::bad_alloc.
  explicit DecisionTickets(Answers& answers);

  // Returns a ticket that is free until it is lent, or nullptr if too many answers are outstanding.
  // Throws std::bad_alloc.
  [[nodiscard]] DecisionTicket* spare();

  // The spare ticket, whose decision is outstanding, waits; `snapshot` is the one that decides.
  [[nodiscard]] Ticket::Held<DecisionTicket> lend(std::shared_ptr<const PolicySnapshot> snapshot,
                                                  Resume then) noexcept;
  void give_back(DecisionTicket* ticket) noexcept;

 private:
  // Kept after a peak: 4 MiB. More wait only under high load, which can pay for their memory.
  static constexpr std::size_t free_max = 64;

  Answers& answers_;
  std::unique_ptr<DecisionTicket> free_;
  std::size_t free_count_ = 1;
};

}  // namespace headgate::server
