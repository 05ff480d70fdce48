#include "headgate/cli/check/nginx_conf_reader.h"

#include <glob.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "headgate/base/regular_file.h"

namespace headgate::cli {
namespace {

using Directives = std::vector<NginxDirective>;

// nginx itself has no limit, and ends without descriptors where a file includes itself.
constexpr std::size_t includes_max = 16;
constexpr std::size_t blocks_max = 64;                   // one in another
constexpr std::size_t file_max = std::size_t{16} << 20;  // [bytes]

// Reads the tokens of one file: words, and the marks '{', '}' and ';'.
class Tokens {
 public:
  enum class Kind { word, open, close, semicolon, end, fault };

  explicit Tokens(std::string_view text) noexcept : text_(text) {}

  // The word of Kind::word, or what is wrong.
  [[nodiscard]] const std::string& text() const noexcept { return word_; }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }

  // Skips a block of Lua up to its '}'. Returns false if it does not end.
  bool skip_lua() {
    for (std::size_t depth = 1; at_ < text_.size();) {
      const char c = text_[at_];
      if (text_.substr(at_).starts_with("--")) {
        at_ += 2;
        if (const auto level = long_bracket()) {
          skip_past(*level);
        } else {
          while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        }
      } else if (const auto level = long_bracket()) {
        skip_past(*level);
      } else if (c == '"' || c == '\'') {
        if (quoted(c) == Kind::fault) return false;
      } else {
        take();
        if (c == '{') ++depth;
        if (c == '}' && --depth == 0) return true;
      }
    }
    return false;
  }

  Kind next() {
    skip_space();
    word_.clear();
    if (at_ == text_.size()) return Kind::end;
    const char c = text_[at_];
    if (c == '{' || c == '}' || c == ';') {
      take();
      return c == '{' ? Kind::open : c == '}' ? Kind::close : Kind::semicolon;
    }
    if (c == '"' || c == '\'') return quoted(c);
    while (at_ < text_.size() && !ends_word()) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) word_.push_back(take());
      word_.push_back(take());
    }
    return Kind::word;
  }

 private:
  [[nodiscard]] static bool is_space(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
  }

  // Whether the next character does not belong to a word. "${name}" does.
  [[nodiscard]] bool ends_word() const noexcept {
    const char c = text_[at_];
    if (c == '{') return word_.empty() || word_.back() != '$';
    if (c == '}') return word_.rfind("${") == word_.npos;
    return is_space(c) || c == ';';
  }

  char take() noexcept {
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }

  void skip_space() noexcept {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (is_space(text_[at_])) {
        take();
      } else {
        return;
      }
    }
  }

  // The end of the long string of Lua that begins here, as "]=]" is of "[=[".
  [[nodiscard]] std::optional<std::string> long_bracket() const {
    if (at_ == text_.size() || text_[at_] != '[') return std::nullopt;
    const std::size_t second = text_.find_first_not_of('=', at_ + 1);
    if (second == text_.npos || text_[second] != '[') return std::nullopt;
    return ']' + std::string(second - at_ - 1, '=') + ']';
  }

  void skip_past(std::string_view end) noexcept {
    const std::size_t found = text_.find(end, at_);
    const std::size_t to = found == text_.npos ? text_.size() : found + end.size();
    while (at_ < to) take();
  }

  Kind quoted(char quote) {
    take();
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size() &&
          (text_[at_ + 1] == quote || text_[at_ + 1] == '\\')) {
        take();
      }
      word_.push_back(take());
    }
    if (at_ == text_.size()) {
      word_ = "a quote is not closed";
      return Kind::fault;
    }
    take();
    return Kind::word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::string word_;
};

class ConfReader {
 public:
  explicit ConfReader(const std::string& path)
      : folder_(std::filesystem::path(path).parent_path()) {}

  // Appends the directives of a file. Returns false after a fault.
  bool read_file(const std::string& path, Directives& out) {
    if (depth_ == includes_max) return fail(path, "more than 16 files include each other");
    const auto text = read_regular_file(path, file_max);
    if (!text) return fail(path, text.error());
    if (text->size() > file_max) return fail(path, "is longer than 16 MiB");
    Tokens tokens(*text);
    ++depth_;
    const bool good = read_block(tokens, path, 0, out);
    --depth_;
    return good;
  }

  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  bool fail(const std::string& place, const std::string& what) {
    fault_ = place + ": " + what;
    return false;
  }

  bool fail(const std::string& file, std::size_t line, const std::string& what) {
    return fail(file + ':' + std::to_string(line), what);
  }

  // Reads directives up to the end of the block, or at depth 0 of the file.
  bool read_block(Tokens& tokens, const std::string& file, std::size_t depth, Directives& out) {
    if (depth == blocks_max) return fail(file, tokens.line(), "more than 64 blocks in each other");
    NginxDirective directive;
    while (true) {
      const Tokens::Kind kind = tokens.next();
      if (kind == Tokens::Kind::word) {
        if (directive.words.empty()) {
          directive.file = file;
          directive.line = tokens.line();
        }
        directive.words.push_back(tokens.text());
        continue;
      }
      if (kind == Tokens::Kind::fault) return fail(file, tokens.line(), tokens.text());
      const bool ends = kind == Tokens::Kind::close || kind == Tokens::Kind::end;
      if (ends && !directive.words.empty()) {
        return fail(file, directive.line, "a directive does not end; expected ';'");
      }
      if (ends && (kind == Tokens::Kind::close) != (depth > 0)) {
        return fail(file, tokens.line(),
                    depth > 0 ? "a block is not closed; expected '}'" : "'}' closes no block");
      }
      if (ends) return true;
      if (directive.words.empty()) return fail(file, tokens.line(), "expected a directive");
      if (kind == Tokens::Kind::open && directive.words.front().ends_with("_by_lua_block")) {
        if (!tokens.skip_lua())
          return fail(file, directive.line, "a block of Lua is not closed; expected '}'");
      } else if (kind == Tokens::Kind::open) {
        if (!read_block(tokens, file, depth + 1, directive.block)) return false;
      } else if (directive.words.front() == "include" && directive.words.size() == 2) {
        if (!include(directive, out)) return false;
        directive = {};
        continue;
      }
      out.push_back(std::exchange(directive, {}));
    }
  }

  bool include(const NginxDirective& directive, Directives& out) {
    const std::string pattern = (folder_ / directive.words[1]).string();
    glob_t found{};
    const int status = glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    if (status == GLOB_NOMATCH && pattern.find_first_of("*?[") == std::string::npos) {
      return fail(directive.file, directive.line, "can't include " + pattern + ": no such file");
    }
    for (const std::string& file : files) {
      if (!read_file(file, out)) return false;
    }
    return true;
  }

  std::filesystem::path folder_;
  std::size_t depth_ = 0;
  std::string fault_;
};

}  // namespace

Result<std::vector<NginxDirective>, std::string> read_nginx_conf(const std::string& path) {
  ConfReader reader(path);
  Directives directives;
  if (!reader.read_file(path, directives)) return Failure<std::string>(reader.fault());
  return directives;
}

}  // namespace headgate::cli
