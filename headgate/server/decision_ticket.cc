#include "headgate/server/decision_ticket.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace headgate::server {

void DecisionTicket::undo() noexcept {
  for (const gate::Due& due : decision.verdict.dues) {
    if (!due.policy->holds_slots()) continue;
    decision.gate().settle({&due, 1}, decision.now, {}, std::nullopt);
  }
}

void DecisionTicket::end() noexcept { from_.give_back(this); }

DecisionTickets::DecisionTickets(Answers& answers)
    : answers_(answers), free_(std::make_unique<DecisionTicket>(answers, *this)) {}

DecisionTicket* DecisionTickets::spare() {
  if (free_ == nullptr) {
    if (answers_.is_full()) return nullptr;
    free_ = std::make_unique<DecisionTicket>(answers_, *this);
    free_count_ = 1;
  }
  return free_.get();
}

Ticket::Held<DecisionTicket> DecisionTickets::lend(std::shared_ptr<const PolicySnapshot> snapshot,
                                                   Resume then) noexcept {
  Ticket::Held<DecisionTicket> lent(free_.release());
  free_ = std::move(lent->next_);
  free_least_ = std::min(free_least_, --free_count_);
  lent->keeps_ = std::move(snapshot);
  lent->await(then);
  return lent;
}

void DecisionTickets::give_back(DecisionTicket* ticket) noexcept {
  std::unique_ptr<DecisionTicket> owned(ticket);
  owned->keeps_.reset();
  owned->limits.reset();
  owned->next_ = std::move(free_);
  free_ = std::move(owned);
  ++free_count_;
  if (++answered_ == period) release_unused();
}

void DecisionTickets::release_unused() noexcept {
  for (std::size_t unused = free_least_ / 2; unused > 0; --unused) {
    free_ = std::move(free_->next_);
    --free_count_;
  }
  free_least_ = free_count_;
  answered_ = 0;
}

}  // namespace headgate::server
