// Secrets from the operating system.
#pragma once

#include "headgate/base/siphash.h"

namespace headgate {

// A new secret from getrandom(2). Aborts if the call fails, because a predictable secret would be
// worse.
[[nodiscard]] HashSecret random_secret() noexcept;

}  // namespace headgate
