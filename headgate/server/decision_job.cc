#include "headgate/server/decision_job.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace headgate::server {

gate::Waiting DecisionJob::take_waiting() noexcept {
  if (decision.waits != gate::Waits::here || decision.verdict.waits_for == nullptr) return {};
  gate::Waiting waiting = decision.gate().waiting(decision.verdict);
  decision.verdict.waits_for = nullptr;
  return waiting;
}

void DecisionJob::undo() noexcept {
  for (const gate::Due& due : decision.verdict.dues) {
    if (!due.policy->holds_slots()) continue;
    decision.gate().settle({&due, 1}, decision.now, {}, std::nullopt);
  }
}

void DecisionJob::end() noexcept {
  // Of a client that left when the decision was there and its answer was not written.
  [[maybe_unused]] const gate::Waiting ended = take_waiting();
  from_.give_back(this);
}

DecisionJobs::DecisionJobs(Answers& answers)
    : answers_(answers), free_(std::make_unique<DecisionJob>(answers, *this)) {}

DecisionJob* DecisionJobs::spare() {
  if (answers_.is_full()) return nullptr;
  if (free_ == nullptr) {
    free_ = std::make_unique<DecisionJob>(answers_, *this);
    free_count_ = 1;
  }
  return free_.get();
}

Job::Held<DecisionJob> DecisionJobs::lend(std::shared_ptr<const PolicySnapshot> snapshot,
                                          Resume then) noexcept {
  Job::Held<DecisionJob> lent(free_.release());
  free_ = std::move(lent->next_);
  free_least_ = std::min(free_least_, --free_count_);
  lent->keeps_ = std::move(snapshot);
  lent->await(then);
  return lent;
}

void DecisionJobs::give_back(DecisionJob* job) noexcept {
  std::unique_ptr<DecisionJob> owned(job);
  owned->keeps_.reset();
  owned->limits.reset();
  owned->next_ = std::move(free_);
  free_ = std::move(owned);
  ++free_count_;
  if (++answered_ == period) release_unused();
}

void DecisionJobs::release_unused() noexcept {
  for (std::size_t unused = free_least_ / 2; unused > 0; --unused) {
    free_ = std::move(free_->next_);
    --free_count_;
  }
  free_least_ = free_count_;
  answered_ = 0;
}

}  // namespace headgate::server
