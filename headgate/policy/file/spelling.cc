#include "headgate/policy/file/spelling.h"

#include <algorithm>
#include <array>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/base/hex.h"

namespace headgate::policy {
namespace {

// Longer words are not compared. Of the known words, only one of Boulder's names is longer.
constexpr std::size_t word_max = 48;

// Returns the optimal string alignment distance: the least number of letters to add, remove, change
// or swap with a neighbour. If it is above `most`, returns any number above it.
std::size_t edits(std::string_view a, std::string_view b, std::size_t most) {
  using Row = std::array<std::size_t, word_max + 1>;
  std::array<Row, 3> rows;
  Row* before = &rows[0];
  Row* above = &rows[1];
  Row* row = &rows[2];
  for (std::size_t j = 0; j <= b.size(); ++j) (*above)[j] = j;
  std::size_t least_above = 0;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t least = (*row)[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      std::size_t edited = std::min({(*above)[j] + 1, (*row)[j - 1] + 1, (*above)[j - 1] + other});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        edited = std::min(edited, (*before)[j - 2] + 1);
      }
      (*row)[j] = edited;
      least = std::min(least, edited);
    }
    if (least > most && least_above > most) return least;  // no later row has less
    least_above = least;
    std::swap(before, above);
    std::swap(above, row);
  }
  return (*above)[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known) {
  if (word.size() > word_max) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t least = word_max;
  for (const std::string_view candidate : known) {
    if (candidate.size() > word_max || candidate == word || least == 0) continue;
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    const std::size_t most = std::min(longer / 3, least - 1);
    if (longer - shorter > most) continue;
    const std::size_t distance = edits(word, candidate, most);
    if (distance <= most) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

std::string alternatives(std::span<const std::string_view> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 < words.size() ? ", " : " or ";
    out += words[i];
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown_max = 60;  // a fault with such a text still fits on one line
  std::string out = "'";
  for (const char c : text.substr(0, shown_max)) append_printable(out, c);
  if (text.size() > shown_max) out += "...";
  out += '\'';
  return out;
}

}  // namespace headgate::policy
