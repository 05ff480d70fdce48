#include "headgate/server/answers.h"

#include <poll.h>

#include <cerrno>

namespace headgate::server {

Answers::~Answers() {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + patience;
  while (outstanding_ > 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) break;
    pollfd letters{home_->fd(), POLLIN, 0};
    const int ready = poll(&letters, 1, static_cast<int>(left));
    if (ready > 0) home_->deliver();
    if (ready < 0 && errno != EINTR) break;
  }
  if (outstanding_ > 0) static_cast<void>(home_.release());
}

}  // namespace headgate::server
