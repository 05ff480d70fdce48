#include "headgate/net/resp_reader.h"

#include <algorithm>
#include <utility>

#include "headgate/base/ascii.h"

namespace headgate::net {
namespace {

constexpr int digits_max = 18;  // any 18 digits fit in 64 bits

// The elements for which memory is kept: more than any command of ours has, and little beside the
// memory of a connection.
constexpr std::size_t elements_kept = 32;

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f' || c == '\0';
}

// No word begins with such a byte. A handshake of TLS and a message of STUN do: web pages can make
// a browser send them, with lines of their own in them.
bool is_control(char c) noexcept {
  return (c >= '\0' && c < ' ' && (c == '\0' || !is_space(c))) || c == '\x7f';
}

char unescaped(char c) noexcept {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

}  // namespace

RespReader::Found RespReader::read(std::string_view bytes) {
  used_ = 0;
  words_.all.clear();
  if (at_ == 0 && elements_.capacity() > elements_kept) std::vector<Slice>().swap(elements_);
  for (;;) {
    const std::string_view command = bytes.substr(used_);
    if (command.empty()) return Found::more;
    const Found found = command.front() == '*' ? read_array(command) : read_inline(command);
    if (found != Found::command) return found;
    used_ += std::exchange(at_, 0);
    if (!words_.all.empty()) return found;
  }
}

// Reads the number of a line such as "*3" or "$11", whose type is at `at`; moves `at` behind the
// line.
RespReader::Line RespReader::read_header(std::string_view bytes, std::size_t& at,
                                         std::int64_t& number) noexcept {
  const char* p = bytes.data() + at + 1;
  const char* const end = bytes.data() + bytes.size();
  // Most lengths have one digit. Measured by `./dev bench`, figure CL.THROTTLE.
  if (end - p >= 3 && is_digit(p[0]) && p[1] == '\r' && p[2] == '\n') {
    number = p[0] - '0';
    at = static_cast<std::size_t>(p + 3 - bytes.data());
    return Line::number;
  }
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  const char* const digits = p;
  std::int64_t value = 0;
  for (; p != end && is_digit(*p) && p - digits < digits_max; ++p) value = value * 10 + (*p - '0');
  if (p == end) return Line::more;
  if (*p != '\r' || p == digits) return Line::malformed;
  if (p + 1 == end) return Line::more;
  if (p[1] != '\n') return Line::malformed;
  number = negative ? -value : value;
  at = static_cast<std::size_t>(p + 2 - bytes.data());
  return Line::number;
}

RespReader::Found RespReader::read_array(std::string_view bytes) {
  if (at_ == 0) {
    elements_.clear();
    switch (read_header(bytes, at_, expected_)) {
      case Line::more:
        return Found::more;
      case Line::malformed:
        return fail("invalid multibulk length");
      case Line::number:
        break;
    }
    if (expected_ > static_cast<std::int64_t>(limits_.arguments_max)) {
      return fail("invalid multibulk length");
    }
  }
  for (; expected_ > 0; --expected_) {
    if (const Found found = read_element(bytes); found != Found::command) return found;
  }
  for (const Slice& slice : elements_) words_.all.push_back(bytes.substr(slice.begin, slice.size));
  return Found::command;
}

// Reads one element, a bulk string or an integer. Returns Found::command if it is complete.
RespReader::Found RespReader::read_element(std::string_view bytes) {
  if (at_ == bytes.size()) return Found::more;
  const char type = bytes[at_];
  if (type != '$' && type != ':') {
    const bool printable = type > ' ' && type <= '~';
    return fail(std::string("expected '$', got '") + (printable ? type : '?') + '\'');
  }
  std::size_t at = at_;
  std::int64_t number = 0;
  const Line line = read_header(bytes, at, number);
  if (line == Line::more) return Found::more;
  if (type == ':') {
    if (line == Line::malformed || at > limits_.command_max) return fail("invalid integer");
    elements_.push_back(
        {static_cast<std::uint32_t>(at_ + 1), static_cast<std::uint32_t>(at - at_ - 3)});
    at_ = at;
    return Found::command;
  }
  const std::size_t room = limits_.command_max - std::min(limits_.command_max, at + 2);
  if (line == Line::malformed || number < 0 || static_cast<std::uint64_t>(number) > room) {
    return fail("invalid bulk length");
  }
  const auto size = static_cast<std::size_t>(number);
  if (bytes.size() - at < size + 2) return Found::more;
  if (bytes[at + size] != '\r' || bytes[at + size + 1] != '\n') {
    return fail("expected a line end behind a bulk string");
  }
  elements_.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size)});
  at_ = at + size + 2;
  return Found::command;
}

RespReader::Found RespReader::read_inline(std::string_view bytes) {
  if (is_control(bytes.front())) return fail("expected '*' or a word");
  const std::size_t end = bytes.find('\n', at_);
  if (end == std::string_view::npos || end >= limits_.command_max) {
    if (bytes.size() > limits_.command_max) return fail("too big inline request");
    at_ = bytes.size();
    return Found::more;
  }
  at_ = end + 1;
  std::string_view line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return split(line) ? Found::command : Found::fault;
}

// Splits at white space outside of "..." and '...'. Returns false after fail().
bool RespReader::split(std::string_view line) {
  elements_.clear();
  words_.inline_text.clear();
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && is_space(line[at])) ++at;
    if (at == line.size()) break;
    if (elements_.size() == limits_.arguments_max) {
      fail("too many arguments in inline request");
      return false;
    }
    const std::size_t begin = words_.inline_text.size();
    while (at < line.size() && !is_space(line[at])) {
      if (line[at] != '"' && line[at] != '\'') {
        words_.inline_text.push_back(line[at++]);
      } else if (!unquote(line, at)) {
        fail("unbalanced quotes in request");
        return false;
      }
    }
    elements_.push_back({static_cast<std::uint32_t>(begin),
                         static_cast<std::uint32_t>(words_.inline_text.size() - begin)});
  }
  const std::string_view text = words_.inline_text;
  for (const Slice& slice : elements_) words_.all.push_back(text.substr(slice.begin, slice.size));
  return true;
}

// Appends the text between the quotes, of which the first is at `at`, and moves `at` behind the
// second, which must end the argument. The escapes \n \r \t \b \a and \xHH are decoded in double
// quotes, \' alone in single quotes.
bool RespReader::unquote(std::string_view line, std::size_t& at) {
  const char quote = line[at++];
  while (at < line.size()) {
    const char c = line[at++];
    if (c == quote) return at == line.size() || is_space(line[at]);
    if (c != '\\' || at == line.size() || (quote == '\'' && line[at] != '\'')) {
      words_.inline_text.push_back(c);
      continue;
    }
    const char escaped = line[at++];
    if (quote == '"' && escaped == 'x' && at + 1 < line.size() && hex_value(line[at]) >= 0 &&
        hex_value(line[at + 1]) >= 0) {
      words_.inline_text.push_back(
          static_cast<char>(hex_value(line[at]) << 4 | hex_value(line[at + 1])));
      at += 2;
    } else {
      words_.inline_text.push_back(quote == '"' ? unescaped(escaped) : escaped);
    }
  }
  return false;
}

RespReader::Found RespReader::fail(std::string_view why) {
  fault_ = "Protocol error: ";
  fault_ += why;
  return Found::fault;
}

}  // namespace headgate::net
