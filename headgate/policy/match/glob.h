// Patterns in which '*' matches any characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::policy {

// '*' matches any number of characters, including none and including '/'. Every other character
// matches itself. Compares bytes: host names must be in lower case on both sides.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  // Never backtracks past a '*'. Takes at most text length x pattern length steps. Does not
  // allocate.
  [[nodiscard]] bool matches(std::string_view text) const noexcept;

  // Whether there is no '*', so that only head() matches.
  [[nodiscard]] bool is_literal() const noexcept { return literal_; }
  // What every matching text begins with: the pattern up to its first '*'.
  [[nodiscard]] std::string_view head() const noexcept { return head_; }

 private:
  std::string head_;                 // before the first '*'
  std::vector<std::string> middle_;  // between two '*', none empty
  std::string tail_;                 // behind the last '*'
  bool literal_ = false;             // there is no '*': head_ is the whole pattern
};

}  // namespace headgate::policy
