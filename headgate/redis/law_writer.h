// Writes a law as text, as the commands of Redis' module take it.
#pragma once

#include <string>

#include "headgate/limit/law.h"

namespace headgate::redis {

// The text from which read_law() makes a law that decides the same. REQUIRES: its windows are not
// those of a calendar. May throw std::bad_alloc.
[[nodiscard]] std::string law_text(const limit::Law& law);

}  // namespace headgate::redis
