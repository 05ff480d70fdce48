// Several scenarios side by side.
#pragma once

#include <span>
#include <string>

#include "headgate/sim/summary.h"

namespace headgate::sim {

struct Compared {
  std::string name;  // of the variant
  const Summary* summary;
};

// A table for people: one line per variant and policy.
[[nodiscard]] std::string comparison_text(std::span<const Compared> all);

// {"variants": [...]}: each variant's name and summary, with a final newline.
[[nodiscard]] std::string comparison_json(std::span<const Compared> all);

}  // namespace headgate::sim
