#include "headgate/server/wrong_tokens.h"

#include <algorithm>

#include "headgate/server/peer.h"

namespace headgate::server {
std::optional<WrongTokens::Answer> WrongTokens::count(unsigned nth, int fd, Clock::time_point now) {
  stats_.wrong_token(kind_);
  credentials_.count_wrong_token(peer_text(fd));
  const Clock::time_point at = std::max(now + nth * delay, last_ + apart);
  if (at > now + patience_) return std::nullopt;
  last_ = at;
  return Answer{at, nth >= tries_max};
}

}  // namespace headgate::server
