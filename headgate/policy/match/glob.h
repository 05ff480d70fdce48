// Patterns in which '*' stands for any run of characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::policy {

// '*' matches any run of characters, also an empty one and also '/'; every other character is
// itself. Byte for byte: for host names, give both sides in lower case.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  // Never backtracks past a '*': at worst text length x pattern length, no allocation.
  [[nodiscard]] bool matches(std::string_view text) const noexcept;

 private:
  std::string head_;                 // before the first '*'
  std::vector<std::string> middle_;  // between two '*', none empty
  std::string tail_;                 // behind the last '*'
  bool literal_ = false;             // no '*' at all: head_ is everything
};

}  // namespace headgate::policy
