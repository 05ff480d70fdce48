// Reading a policy file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

// One thing wrong in a policy file.
struct Fault {
  std::string file;
  std::size_t line = 0;    // from 1; 0: the file as a whole
  std::size_t column = 0;  // from 1
  std::string what;        // what is wrong, and what was expected

  // "FILE:LINE:COLUMN: what", or "FILE: what" where there is no position.
  [[nodiscard]] std::string text() const;
};

using Loaded = Result<std::shared_ptr<const PolicySet>, std::vector<Fault>>;

// Reads and validates a whole policy file. A bad file is refused whole, with every fault that was
// found, in order of position; those of the files that it names follow. Never throws.
[[nodiscard]] Loaded load_file(const std::string& path);

// The same from memory; `name` stands for the file in faults, and relative paths are relative to
// it.
[[nodiscard]] Loaded load_text(std::string_view yaml, const std::string& name);

}  // namespace headgate::policy
