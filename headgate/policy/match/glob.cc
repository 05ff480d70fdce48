#include "headgate/policy/match/glob.h"

#include "headgate/base/ascii.h"
#include "headgate/base/find_ignoring_case.h"

namespace headgate::policy {
namespace {

struct ExactLetters {
  static bool equal(std::string_view a, std::string_view b) noexcept { return a == b; }
  static std::size_t find(std::string_view text, std::string_view piece) noexcept {
    return text.find(piece);
  }
};

struct AnyCaseLetters {
  static bool equal(std::string_view a, std::string_view b) noexcept {
    return equal_ignoring_case(a, b);
  }
  static std::size_t find(std::string_view text, std::string_view piece) noexcept {
    return find_ignoring_case(text, piece);
  }
};

}  // namespace

Glob::Glob(std::string_view pattern) {
  std::size_t star = pattern.find('*');
  head_ = pattern.substr(0, star);
  literal_ = star == std::string_view::npos;
  while (star != std::string_view::npos) {
    pattern.remove_prefix(star + 1);
    star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    if (star == std::string_view::npos) {
      tail_ = piece;
    } else if (!piece.empty()) {
      middle_.emplace_back(piece);
    }
  }
}

bool Glob::matches(std::string_view text) const noexcept { return matches_by<ExactLetters>(text); }

bool Glob::matches_ignoring_case(std::string_view text) const noexcept {
  return matches_by<AnyCaseLetters>(text);
}

template <class Letters>
bool Glob::matches_by(std::string_view text) const noexcept {
  if (literal_) return Letters::equal(text, head_);
  if (text.size() < head_.size() + tail_.size()) return false;
  if (!Letters::equal(text.substr(0, head_.size()), head_) ||
      !Letters::equal(text.substr(text.size() - tail_.size()), tail_)) {
    return false;
  }
  text.remove_prefix(head_.size());
  text.remove_suffix(tail_.size());
  // The leftmost match of each piece leaves the most text for the next ones, so that no other match
  // needs to be tried.
  for (const std::string& piece : middle_) {
    const std::size_t at = Letters::find(text, piece);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + piece.size());
  }
  return true;
}

}  // namespace headgate::policy
