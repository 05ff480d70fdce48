// Paths in the form in which upstreams route them: many spellings of a path reach one handler.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/policy/match/glob.h"

namespace headgate::policy {

// What some upstreams take for the '?' behind a path.
inline constexpr std::string_view encoded_question_mark = "%3f";

// Where a path has it first, in either case; npos if nowhere.
[[nodiscard]] std::size_t find_encoded_question_mark(std::string_view raw) noexcept;

// Appends the path of a request line, which has no query, as most upstreams route it:
//
//   - %XX is decoded once; a '%' without two hex digits stays
//   - '\' and "%5c" are slashes, as "%2f" is
//   - parameters are left out: a ';' and what follows it in its segment
//   - "." and ".." are resolved; a ".." above the root is left out
//   - repeated slashes are one, and the last slash is left out, but not that of the root
//   - letters of ASCII are in lower case
//   - white space at the end, encoded or not, is left out
//   - a '%' is written as "%25", and a '#' as "%23"
//
// So a folded path is itself when it is folded again. Linear.
void append_folded_path(std::string_view raw, std::string& out);

// The pattern of a `path` in the policy file.
class PathPattern {
 public:
  // Folds the pattern. '*' matches any characters. A pattern that ends with "/*" also matches the
  // path before it: "/v1/*" has to match "/v1/", of which the last slash is left out.
  explicit PathPattern(std::string_view pattern);

  // `folded` is a folded path.
  [[nodiscard]] bool matches(std::string_view folded) const noexcept {
    return glob_.matches(folded) || (parent_ && parent_->matches(folded));
  }
  // The folded pattern itself.
  [[nodiscard]] const Glob& glob() const noexcept { return glob_; }

 private:
  Glob glob_;
  std::optional<Glob> parent_;  // the pattern without the "/*" at its end
};

// The path of one request, folded on first use.
class FoldedPath {
  // 4 ways with ".." x 2 with parameters.
  static constexpr std::size_t readings_per_path = 8;

 public:
  // With and without the authority, up to the '#' and as a whole; 2 up to the ';', and 2 up to an
  // encoded '?'.
  static constexpr std::size_t readings_max = 4 * readings_per_path + 4;

  // `buffer` holds the results; reuse it for the next request, so that only a path that is longer
  // than any before, or very long, allocates.
  FoldedPath(std::string_view raw, std::string& buffer) noexcept : raw_(raw), buffer_(buffer) {}
  // Ends the results. Keeps little memory: each worker, and each decision that waits, has a buffer.
  ~FoldedPath();
  FoldedPath(const FoldedPath&) = delete;
  FoldedPath& operator=(const FoldedPath&) = delete;

  // Returns the path as append_folded_path() does.
  [[nodiscard]] std::string_view text() { return readings().front(); }

  // Returns the path for a key: as text() does, unless upstreams differ about where a parameter, a
  // segment or the path ends, or where it begins. If then one reading is the begin of all others,
  // as
  // "/login" is of "/login/0" for "/login;%2f0", returns that; else "", and also if the path has a
  // '#'. Otherwise clients could make up a key for each request.
  [[nodiscard]] std::string_view key() {
    return key([](std::string_view reading) { return !reading.empty(); });
  }
  // The same, but regards only the readings for which counts(reading) holds: of those that text()
  // stands for, and if it is none of them, of all. If it holds for none, regards the former.
  template <class Counts>
  [[nodiscard]] std::string_view key(const Counts& counts) {
    const auto all = readings();
    if (all.size() == 1) return all.front();
    if (has_fragment_) return {};
    std::bitset<readings_max> counted;
    for (std::size_t i = 0; i < all.size(); ++i) counted.set(i, counts(all[i]));
    const std::bitset<readings_max> in_key = counted & in_key_;
    return key_of(in_key.any() ? in_key : counted.any() ? counted : in_key_);
  }

  // Returns the path as text() does, and then in the other ways in which upstreams may read it.
  // There are others only if a segment is "..", if a slash follows a ';' ("/login;/x" is "/login/x"
  // and, to Fastify up to 4, "/login"), if the path begins with two slashes ("//host/login" is also
  // "/login"), or if it has a '#' or an encoded '?', where some end it: "/a#/../login" is "/login"
  // and "/a".
  // "/x/a%2fb/../login" is "/x/a/login" and "/x/login".
  [[nodiscard]] std::span<const std::string_view> readings() {
    if (count_ == 0) fold();
    return std::span<const std::string_view>(readings_).first(count_);
  }

 private:
  void fold();
  // Returns the one of these readings that is the begin of all of them, or "".
  [[nodiscard]] std::string_view key_of(const std::bitset<readings_max>& of) const noexcept;
  // Appends the readings of a path, and of what follows its authority, if it may have one.
  void add_readings(std::string_view raw);
  void add_readings_of_path(std::string_view raw);
  // Appends the readings of those who end the path here. Nothing for its begin, and for npos.
  void add_readings_to(std::size_t end);

  std::string_view raw_;
  std::string& buffer_;
  std::array<std::string_view, readings_max> readings_;
  std::size_t count_ = 0;
  bool has_fragment_ = false;
  std::bitset<readings_max> in_key_;  // the readings that key() regards
};

}  // namespace headgate::policy
