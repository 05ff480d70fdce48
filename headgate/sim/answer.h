// What was decided of one line, as the decisions file tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/limit/decision.h"

namespace headgate::sim {

// What one policy answered, or all of a line's policies together. `remaining` and `reset` are
// absent where no limit applies (mode off, an unlimited partition); `wait` [ns] is 0 if admitted
// and absent where waiting never helps.
struct Answer {
  bool admitted = true;
  std::optional<std::uint64_t> remaining;
  std::optional<std::uint64_t> reset;  // the field's t [s]
  std::optional<Nanos> wait = Nanos{0};
  bool taken = true;  // of one policy: the cost was taken from it, or it does not limit this key
};

struct Answers {
  Answer verdict;               // of the line: the most restrictive of the enforced `results`
  std::vector<Answer> results;  // one a question, in their order
};

[[nodiscard]] Answer answer_of(const limit::Decision& decision);

// Whether `a` restricts more than `b`: denied, then the longer wait, then fewer left.
[[nodiscard]] bool stricter(const Answer& a, const Answer& b);

// One line of the decisions file, without its end; `several` adds the results.
[[nodiscard]] std::string decision_json(const Answers& answers, bool several);
// The same of a line that could not be read.
[[nodiscard]] std::string error_json(const std::string& why);

}  // namespace headgate::sim
