#include "headgate/redis/deadlines.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace headgate::redis {

Deadlines::~Deadlines() {
  for (const auto& taking : begun_) taking->complete();
}

void Deadlines::add(std::shared_ptr<Taking> taking) {
  if (begun_.size() >= dropped_at_) {
    std::erase_if(begun_, [](const auto& one) { return one->is_complete(); });
    dropped_at_ = std::max(dropped_at_least, 2 * begun_.size());
  }
  begun_.push_back(std::move(taking));
}

bool Deadlines::is_taking() {
  while (!begun_.empty() && begun_.front()->is_complete()) begun_.pop_front();
  return !begun_.empty();
}

void Deadlines::watch() {
  if (is_watching_ || !is_taking()) return;
  is_watching_ = true;
  timer_.expires_at(begun_.front()->deadline());
  timer_.async_wait([this](const boost::system::error_code& error) {
    is_watching_ = false;
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    while (!begun_.empty() && begun_.front()->deadline() <= now) {
      const std::shared_ptr<Taking> taking = std::move(begun_.front());
      begun_.pop_front();
      if (taking->is_complete()) continue;
      fault_.note(taking->why_late());
      if (counts_ != nullptr) counts_->timeouts.fetch_add(1, std::memory_order_relaxed);
      taking->complete();
    }
    watch();
  });
}

}  // namespace headgate::redis
