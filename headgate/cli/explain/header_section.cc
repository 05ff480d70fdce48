#include "headgate/cli/explain/header_section.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/field/sf/chars.h"

namespace headgate::cli {
namespace {

constexpr std::string_view status_start = "HTTP/";

// The status of "HTTP/1.1 200 OK" or "HTTP/2 200".
std::optional<int> status_of(std::string_view line) {
  if (!line.starts_with(status_start)) return {};
  line.remove_prefix(status_start.size());
  if (line.empty() || !is_digit(line[0])) return {};
  line.remove_prefix(1);
  if (line.size() > 1 && line[0] == '.' && is_digit(line[1])) line.remove_prefix(2);
  if (line.size() < 4 || line[0] != ' ' || (line.size() > 4 && line[4] != ' ')) return {};
  const std::string_view digits = line.substr(1, 3);
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return {};
  return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
}

// RFC 9110, section 5.6.2: a field's name is a token.
bool is_field_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return field::sf::is(c, field::sf::token_char) && c != ':' && c != '/';
  });
}

class SectionReader {
 public:
  explicit SectionReader(std::istream& in) : in_(in) {}

  Result<HeaderSection, std::string> read() {
    HeaderSection section;
    do {
      section = {{}, 0, {}, sections_++};
      if (auto fault = read_one(section)) return Failure<std::string>(*std::move(fault));
    } while (another());
    if (section.status_line.empty() && section.lines.empty()) {
      return Failure<std::string>(
          std::string(number_ == 0 ? "the input is empty" : "the input starts with an empty line") +
          "; expected a response's header section, as curl -si prints it");
    }
    return section;
  }

 private:
  // Returns what is wrong, or std::nullopt.
  std::optional<std::string> read_one(HeaderSection& section) {
    std::string line;
    for (bool first = true; next(line) && !line.empty(); first = false) {
      if (bytes_ > header_bytes_max) {
        return "the header section is longer than " + std::to_string(header_bytes_max) + " bytes";
      }
      if (first) {
        if (const auto status = status_of(line)) {
          section.status_line = line;
          section.status = *status;
          continue;
        }
      }
      if (auto fault = add(section, line)) return fault;
    }
    return {};
  }

  std::optional<std::string> add(HeaderSection& section, std::string_view line) {
    const bool is_first = section.lines.empty() && section.status_line.empty();
    if (line[0] == ' ' || line[0] == '\t') {
      if (is_first) return fault("indented, as wget -S prints it; expected what curl -si does");
      return fault(
          "a field on several lines, which clients and proxies refuse; expected each field on one "
          "line");
    }
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon != std::string_view::npos && is_field_name(name)) {
      section.lines.push_back({std::string(name), std::string(trimmed(line.substr(colon + 1)))});
      return {};
    }
    if (line.starts_with("< ") || line.starts_with("> ") || line.starts_with("* ")) {
      return fault("this is what curl -v prints; expected what curl -si does");
    }
    if (colon != std::string_view::npos && (name.ends_with(' ') || name.ends_with('\t'))) {
      return fault("expected no space between a field's name and its colon");
    }
    return fault(is_first ? "expected a status line (HTTP/1.1 200 OK) or a field (Name: value)"
                          : "expected a field (Name: value), or an empty line before the body");
  }

  [[nodiscard]] std::string fault(const char* what) const {
    return "line " + std::to_string(number_) + ": " + what;
  }

  // Reads a line. Returns false at the end of the input. Cuts the line at header_bytes_max.
  bool next(std::string& line) {
    line = std::exchange(ahead_, {});
    if (line.ends_with('\n')) return trim(line), true;
    for (char c; bytes_ <= header_bytes_max && in_.get(c);) {
      ++bytes_;
      line += c;
      if (c == '\n') break;
    }
    if (line.empty()) return false;
    ++number_;
    return trim(line), true;
  }

  // Whether a status line follows; next() then returns it. Reads no more than that takes, because a
  // body may be endless.
  bool another() {
    for (char c; ahead_.size() < status_start.size() && in_.get(c);) {
      ahead_ += c;
      ++bytes_;
      if (c != status_start[ahead_.size() - 1]) return false;
    }
    if (ahead_ != status_start || !next(ahead_) || !status_of(ahead_)) return false;
    ahead_ += '\n';
    return true;
  }

  static void trim(std::string& line) {
    if (line.ends_with('\n')) line.pop_back();
    if (line.ends_with('\r')) line.pop_back();
  }

  std::istream& in_;
  std::size_t bytes_ = 0;
  std::size_t number_ = 0;
  std::size_t sections_ = 0;
  std::string ahead_;  // what is already read of the next line; complete if it ends in LF
};

}  // namespace

std::vector<field::HeaderLine> HeaderSection::headers() const {
  std::vector<field::HeaderLine> headers;
  headers.reserve(lines.size());
  for (const Line& line : lines) headers.push_back({line.name, line.value});
  return headers;
}

Result<HeaderSection, std::string> read_header_section(std::istream& in) {
  return SectionReader(in).read();
}

}  // namespace headgate::cli
