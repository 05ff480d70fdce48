#include "headgate/nginx/ticket.h"

#include <new>
#include <utility>

namespace headgate::nginx {

Ticket* Tickets::spare() noexcept {
  if (free_ == nullptr) {
    free_.reset(new (std::nothrow) Ticket);
    free_count_ = free_ == nullptr ? 0 : 1;
  }
  return free_.get();
}

void Tickets::lend() noexcept {
  Ticket* lent = free_.release();
  free_ = std::move(lent->next);
  --free_count_;
}

void Tickets::give_back(Ticket* ticket) noexcept {
  std::unique_ptr<Ticket> owned(ticket);
  if (free_count_ == free_max) return;
  owned->next = std::move(free_);
  free_ = std::move(owned);
  ++free_count_;
}

}  // namespace headgate::nginx
