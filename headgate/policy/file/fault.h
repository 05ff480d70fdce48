// What is wrong in a policy file, collected while it is read.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "headgate/policy/file/load.h"

namespace headgate::policy {

// A position in a file, both from 1; columns count bytes.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) {}

  void add(Position at, std::string what);
  [[nodiscard]] bool empty() const noexcept { return faults_.empty(); }

  // In order of position, each once: what an alias repeats is wrong in one place. After the first
  // thousand they are only counted.
  [[nodiscard]] std::vector<Fault> take();

 private:
  std::string file_;
  std::vector<Fault> faults_;
};

}  // namespace headgate::policy
