#include "headgate/server/job.h"

#include "headgate/server/answers.h"

namespace headgate::server {

store::Completion Job::begin() noexcept {
  decided_ = false;
  return {[](void* self) noexcept { static_cast<Job*>(self)->answered(); }, this, answers_.home()};
}

void Job::await(Resume then) noexcept {
  outstanding_ = true;
  then_ = then;
  answers_.add(settles);
}

void Job::answered() noexcept {
  decided_ = true;
  if (!outstanding_) return;
  outstanding_ = false;
  answers_.remove(settles);
  if (!left_) return then_();
  left_ = false;
  undo();
  end();
}

void Job::leave() noexcept {
  if (outstanding_) {
    left_ = true;
  } else {
    end();
  }
}

}  // namespace headgate::server
