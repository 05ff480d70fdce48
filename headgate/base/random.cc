#include "headgate/base/random.h"

#include <sys/random.h>

#include <cstdlib>

namespace headgate {

HashSecret random_secret() noexcept {
  HashSecret secret;
  if (getrandom(&secret, sizeof secret, 0) != sizeof secret) std::abort();
  return secret;
}

}  // namespace headgate
