#include "headgate/policy/match/glob.h"

#include <cstring>

namespace headgate::policy {

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

bool Glob::matches(std::string_view text) const noexcept {
  if (literal_) return text == head_;
  if (text.size() < head_.size() + tail_.size()) return false;
  if (!text.starts_with(head_) || !text.ends_with(tail_)) return false;
  text.remove_prefix(head_.size());
  text.remove_suffix(tail_.size());
  // The leftmost match of each piece leaves the most text for the next ones, so that no other match
  // needs to be tried.
  for (const std::string& piece : middle_) {
    if (text.size() < piece.size()) return false;  // memmem() may not be given an empty text's null
    // string_view::find() is slow where a client repeats the first character of the piece.
    const void* const at = memmem(text.data(), text.size(), piece.data(), piece.size());
    if (at == nullptr) return false;
    text.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(at) - text.data()) +
                       piece.size());
  }
  return true;
}

}  // namespace headgate::policy
