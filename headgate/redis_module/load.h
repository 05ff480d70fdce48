// What happens when Redis loads the module.
#pragma once

#include "headgate/redis_module/api.h"

namespace headgate::redis_module {

// Registers the module and its commands. Returns whether it may be loaded; if not, Redis' log says
// why.
[[nodiscard]] bool load(Context* context) noexcept;

}  // namespace headgate::redis_module
