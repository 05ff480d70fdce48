// Secrets from the operating system.
#pragma once

#include "headgate/base/siphash.h"

namespace headgate {

// A fresh secret from getrandom(2). Aborts if the kernel has no randomness to give: a predictable
// secret would be worse.
[[nodiscard]] HashSecret random_secret() noexcept;

}  // namespace headgate
