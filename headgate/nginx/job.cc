#include "headgate/nginx/job.h"

#include <new>
#include <utility>

namespace headgate::nginx {

namespace {

std::unique_ptr<Job> make() noexcept {
  try {
    return std::make_unique<Job>();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

Job* Jobs::spare() noexcept {
  if (free_ == nullptr) {
    free_ = make();
    free_count_ = free_ == nullptr ? 0 : 1;
  }
  return free_.get();
}

void Jobs::lend() noexcept {
  Job* lent = free_.release();
  free_ = std::move(lent->next);
  --free_count_;
}

void Jobs::give_back(Job* job) noexcept {
  std::unique_ptr<Job> owned(job);
  if (free_count_ == free_max) return;
  owned->next = std::move(free_);
  free_ = std::move(owned);
  ++free_count_;
}

}  // namespace headgate::nginx
