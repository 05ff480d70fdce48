// For tests: the time by which modules with given_clock.cc decide, in this process and in servers
// that it starts later.
#pragma once

#include "headgate/base/instant.h"

namespace headgate::redis_module {

// Sets it. The first call must come before the first decision.
void set_clock(Instant now);

}  // namespace headgate::redis_module
