#include "headgate/policy/match/request_value.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/base/utf8.h"
#include "headgate/policy/match/base64.h"
#include "headgate/policy/match/credentials.h"
#include "headgate/policy/match/decode.h"
#include "headgate/policy/match/path.h"
#include "headgate/policy/match/space.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

// Whether a ListWriter would append a trimmed line as it is. May return false for some such lines.
bool is_list(std::string_view line) noexcept {
  char last = ' ';
  for (const char c : line) {
    const bool after_space = last == ' ';
    const bool is_printable = c >= ' ' && c <= '~';
    if (!is_printable || (after_space && (c == ' ' || c == ',')) || (last == ',' && c != ' ')) {
      return false;
    }
    last = c;
  }
  return last != ',';
}

// Appends the lines of one header as one list.
class ListWriter {
 public:
  // `gap`: what separates the list from the text before it.
  explicit ListWriter(std::string& out, std::string_view gap = {}) noexcept
      : out_(out), gap_(gap) {}

  void add_line(std::string_view line) {
    line = without_space(line);
    if (is_list(line)) {
      append(line);
      line = {};
    }
    while (!line.empty()) {
      std::size_t size = 1;
      if (line[0] == ',') {
        separate(", ");
      } else if (const std::size_t space = leading_space(line)) {
        size = space;
        if (gap_.empty()) separate(" ");
      } else {
        size = first_character(line);
        append(line.substr(0, size));
      }
      line.remove_prefix(size);
    }
    separate(", ");
  }

 private:
  void append(std::string_view text) {
    if (text.empty()) return;
    out_.append(gap_);
    out_.append(text);
    gap_ = {};
    has_begun_ = true;
  }
  void separate(std::string_view gap) noexcept {
    if (has_begun_) gap_ = gap;
  }

  std::string& out_;
  std::string_view gap_;  // before the next character
  bool has_begun_ = false;
};

// Removes the first word from a line and returns it. Of credentials, it is the scheme, and only
// what follows is a list.
std::string_view take_word(std::string_view& line) noexcept {
  line = without_space(line);
  std::size_t size = 0;
  while (size < line.size() && leading_space(line.substr(size)) == 0) {
    size += first_character(line.substr(size));
  }
  const std::string_view word = line.substr(0, size);
  line.remove_prefix(size);
  return word;
}

// Writes the value in out[begin..] in the one form of tokens, or leaves it out if upstreams differ
// about it.
void fold_value(std::string& out, std::size_t begin) {
  if (!fold_token(out, begin)) out.resize(begin);
}

// Appends the value of a header, of which next() returns line by line, and then std::nullopt.
template <class Next>
void append_lines(std::string_view name, std::string& out, Next next) {
  const std::size_t begin = out.size();
  std::optional<std::string_view> line = next();
  if (!line) return;
  std::string_view scheme;
  if (has_credentials(name)) scheme = take_word(*line);
  ListWriter list(out);
  for (; line; line = next()) list.add_line(*line);
  if (has_credentials(name) && !fold_credentials(scheme, out, begin)) out.resize(begin);
  fold_value(out, begin);
}

bool is_encoded(std::string_view text) noexcept {
  // Two searches with memchr: find_first_of() calls memchr once per character of the text.
  // Measured by `./dev bench`, figure headgate-3.
  return text.find('%') != text.npos || text.find('+') != text.npos;
}

bool is_octal(std::string_view text) noexcept {
  return text.size() >= 3 && text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
         text[2] >= '0' && text[2] <= '7';
}

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Whether some program ends a cookie's value without quotes at this character: Python's
// http.cookies at the first ones, and WebOb at all.
bool may_end_value(char c) noexcept {
  return is_space(c) || c == '\\' || c == '"' || c == '[' || c == ']' || c < '\x20' || c > '\x7e';
}

// Whether a cookie's value, a text without white space around it, is the same to all programs.
bool is_clear(std::string_view value) noexcept {
  if (value.starts_with('"')) {
    std::size_t end = 1;
    while (end < value.size() && value[end] != '"') end += value[end] == '\\' ? 2 : 1;
    // Node's cookie 0.6 drops the first and the last character behind any such quote.
    if (end + 1 != value.size()) return false;
  } else if (std::ranges::any_of(value, may_end_value)) {
    return false;
  }
  return value.find(',') == value.npos;  // ASP.NET ends it there
}

// A cookie's value, character by character.
class CookieDecoder {
 public:
  explicit CookieDecoder(std::string_view value) noexcept : rest_(value) {
    quoted_ = rest_.size() >= 2 && rest_.front() == '"' && rest_.back() == '"';
    if (quoted_) rest_ = rest_.substr(1, rest_.size() - 2);
  }

  [[nodiscard]] bool ended() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
  // Whether rest() stands for itself.
  [[nodiscard]] bool is_plain() const noexcept {
    return !is_encoded(rest_) && (!quoted_ || rest_.find('\\') == rest_.npos);
  }

  // Removes and returns the next character. Not at the end.
  char take() noexcept {
    if (quoted_ && rest_[0] == '\\' && rest_.size() > 1) return take_escaped();
    const char c = take_decoded(rest_);
    return c == '+' ? ' ' : c;
  }

 private:
  // "\163" is a byte in octal digits, as Python's http.cookies reads it; "\x" is x.
  char take_escaped() noexcept {
    const std::string_view escaped = rest_.substr(1);
    const bool octal = is_octal(escaped);
    rest_.remove_prefix(octal ? 4 : 2);
    if (!octal) return escaped[0];
    return static_cast<char>((escaped[0] - '0') << 6 | (escaped[1] - '0') << 3 |
                             (escaped[2] - '0'));
  }

  std::string_view rest_;
  bool quoted_ = false;
};

// Returns the size of the encoded text for the first `count` decoded characters, if there are so
// many.
std::size_t encoded_prefix(std::string_view encoded, std::size_t count) noexcept {
  std::string_view rest = encoded;
  for (; count > 0 && !rest.empty(); --count) static_cast<void>(take_percent_decoded(rest));
  return encoded.size() - rest.size();
}

// Removes and returns the last character of an encoded text that is not empty. A "%XX" at the end
// is one: its '%' is no digit of another one.
char take_last_percent_decoded(std::string_view& encoded) noexcept {
  if (encoded.size() >= 3) {
    std::string_view last = encoded.substr(encoded.size() - 3);
    const char c = take_percent_decoded(last);
    if (last.empty()) {
      encoded.remove_suffix(3);
      return c;
    }
  }
  const char c = encoded.back();
  encoded.remove_suffix(1);
  return c;
}

// Returns a form-encoded text without the white space, encoded or not, at both ends of what it
// stands for. Laravel, for one, trims each argument.
std::string_view without_encoded_space(std::string_view encoded) noexcept {
  for (;;) {
    char edge[utf8_max] = {};
    std::size_t size = 0;
    for (std::string_view rest = encoded; size < utf8_max && !rest.empty(); ++size) {
      edge[size] = take_percent_decoded(rest);
    }
    const bool plus = encoded.starts_with('+');
    const std::size_t space = plus ? 1 : leading_space({edge, size});
    if (space == 0) break;
    encoded.remove_prefix(encoded_prefix(encoded, space));
  }
  for (;;) {
    char edge[utf8_max] = {};
    std::size_t size = 0;
    std::string_view rest = encoded;
    for (; size < utf8_max && !rest.empty(); ++size) {
      edge[utf8_max - 1 - size] = take_last_percent_decoded(rest);
    }
    const bool plus = encoded.ends_with('+');
    const std::size_t space = plus ? 1 : trailing_space({edge + utf8_max - size, size});
    if (space == 0) break;
    for (std::size_t i = 0; i < space; ++i) static_cast<void>(take_last_percent_decoded(encoded));
  }
  return encoded;
}

// A form-encoded name or value, character by character.
class FormDecoder {
 public:
  explicit FormDecoder(std::string_view encoded) noexcept : rest_(encoded) {}

  [[nodiscard]] bool ended() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
  [[nodiscard]] bool is_plain() const noexcept { return !is_encoded(rest_); }

  // Removes and returns the next character. Not at the end.
  char take() noexcept {
    if (rest_[0] != '+') return take_decoded(rest_);
    rest_.remove_prefix(1);
    return ' ';
  }

 private:
  std::string_view rest_;
};

// Whether both decode to the same text.
template <class Decoder>
bool equal(Decoder a, Decoder b) noexcept {
  while (!a.ended() && !b.ended()) {
    if (a.take() != b.take()) return false;
  }
  return a.ended() && b.ended();
}

template <class Decoder>
void append(Decoder value, std::string& out) {
  if (value.is_plain()) {
    out.append(value.rest());
    return;
  }
  while (!value.ended()) out.push_back(value.take());
}

// The one value of a part that may occur several times, or nothing if the values differ.
template <class Decoder>
class OnlyValue {
 public:
  void add(std::string_view value) noexcept {
    if (value_ && !equal(Decoder(*value_), Decoder(value))) differs_ = true;
    value_ = value;
  }
  // Adds a value that upstreams read in different ways.
  void add_unclear(std::string_view value) noexcept {
    value_ = value;
    differs_ = true;
  }
  void append_to(std::string& out) const {
    if (value_ && !differs_) append(Decoder(*value_), out);
  }
  [[nodiscard]] Presence presence() const noexcept {
    if (!value_) return Presence::absent;
    return differs_ || Decoder(*value_).ended() ? Presence::unclear : Presence::present;
  }

 private:
  std::optional<std::string_view> value_;
  bool differs_ = false;
};

// Calls visit(pair) for the parts of a text between separators.
template <class Visit>
void each_part(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    visit(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

// Names are compared without regard to case, as ASP.NET does.
bool is_same(char a, char b) noexcept { return lower(a) == lower(b); }

// Whether a form-encoded text stands for a plain one.
bool decodes_to(std::string_view encoded, std::string_view plain) noexcept {
  FormDecoder decoder(encoded);
  for (const char c : plain) {
    if (decoder.ended() || !is_same(decoder.take(), c)) return false;
  }
  return decoder.ended();
}

bool is_bracket(char c) noexcept { return c == '[' || c == ']'; }

// Whether some upstream takes a form-encoded name for the plain one. PHP drops spaces before a name
// and all from a NUL on, and ' ', '.' and '[' are '_' to it. "[k]", "k]" and "k[0]" are k for Rack
// or for qs, of Node. JavaScript's URLSearchParams and ParseQueryString() of .NET drop a '?' at the
// begin of the query.
bool is_read_as(std::string_view encoded, std::string_view plain) noexcept {
  FormDecoder decoder(encoded);
  char c = '\0';
  const auto take = [&] {
    if (decoder.ended()) return false;
    c = decoder.take();
    return c != '\0';
  };
  bool taken = take();
  while (taken && (c == ' ' || c == '?' || is_bracket(c))) taken = take();
  for (const char expected : plain) {
    const bool same =
        is_same(c, expected) || (expected == '_' && (c == ' ' || c == '.' || c == '['));
    if (!taken || !same) return false;
    taken = take();
  }
  return !taken || is_bracket(c);
}

// Whether Next.js takes a form-encoded name for the plain one: in its middleware and edge functions
// it takes off the words with which it hands on the parameters of a path.
bool is_handed_on(std::string_view encoded, std::string_view plain) noexcept {
  FormDecoder decoder(encoded);
  for (const char c : std::string_view("nxt")) {
    if (decoder.ended() || decoder.take() != c) return false;
  }
  if (decoder.ended()) return false;
  const char kind = decoder.take();
  return (kind == 'P' || kind == 'I') && decodes_to(decoder.rest(), plain);
}

// Whether the name in a request is the one of a policy.
bool is_name(std::string_view encoded, std::string_view plain) noexcept {
  return decodes_to(encoded, plain) || is_read_as(encoded, plain) || is_handed_on(encoded, plain);
}

// Returns the token that a text ends with. It may be empty.
std::string_view last_token(std::string_view text) noexcept {
  std::size_t begin = text.size();
  while (begin > 0 && is_token(text.substr(begin - 1, 1))) --begin;
  return text.substr(begin);
}

// Whether a program may find a cookie inside of the value of another one, which is what follows the
// '='. ASP.NET ends values at these characters, and looks for a name behind each of them. Python's
// http.cookies does so at white space, also at the begin: "a= k="b"" has an empty value there.
bool has_inside(std::string_view value, std::string_view name) noexcept {
  const auto ends_value = [](char c) {
    return c <= ' ' || c >= '\x7f' || c == ',' || c == '"' || c == '\\';
  };
  for (auto equals = value.find('='); equals != value.npos; equals = value.find('=', equals + 1)) {
    const std::size_t end = value.substr(0, equals).find_last_not_of(" \t\n\v\f\r") + 1;
    const std::string_view before = value.substr(0, end);
    const std::string_view found = last_token(before);
    if (found.size() == before.size() || !equal_ignoring_case(found, name)) continue;
    if (ends_value(before[before.size() - found.size() - 1])) return true;
  }
  return false;
}

// RFC 6265, section 4.2.1.
OnlyValue<CookieDecoder> find_cookie(const Headers& headers, std::string_view name) noexcept {
  OnlyValue<CookieDecoder> only;
  for (std::size_t nth = 0; const auto line = headers.value("cookie", nth); ++nth) {
    each_part(*line, ';', [&](std::string_view part) {
      const std::size_t equals = part.find('=');
      if (equals == part.npos) return;
      const std::string_view found = without_space(part.substr(0, equals));
      const std::string_view behind = part.substr(equals + 1);
      const std::string_view value = without_space(behind);
      if (has_inside(behind, name)) only.add_unclear(value);
      // ASP.NET skips what is no token before a name.
      if (found == name || is_read_as(found, name) ||
          equal_ignoring_case(last_token(found), name)) {
        is_clear(value) ? only.add(value) : only.add_unclear(value);
      }
    });
  }
  return only;
}

// A session that is split has so many cookies at most: a cookie has 4 KiB, and the headers of a
// request 32 (nginx, Kestrel). Each of them is searched for.
constexpr std::size_t chunks_max = 8;

// Appends the values of the cookies NAME1, NAME2 ..., or nothing if one of them is missing.
void append_chunks(const Headers& headers, const std::string& name, std::size_t first,
                   std::size_t count, std::string& out) {
  const std::size_t begin = out.size();
  for (std::size_t i = first; i < first + count; ++i) {
    const std::size_t before = out.size();
    find_cookie(headers, name + std::to_string(i)).append_to(out);
    if (out.size() == before) return out.resize(begin);
  }
}

// Returns into how many cookies ASP.NET has split a session, if a cookie says so; Katana writes a
// ':'. A number that is out of bounds is 0.
std::optional<std::size_t> chunk_count(std::string_view value) {
  constexpr std::string_view prefix = "chunks";
  if (!value.starts_with(prefix)) return std::nullopt;
  value.remove_prefix(prefix.size());
  if (!value.starts_with('-') && !value.starts_with(':')) return std::nullopt;
  const auto count = parse_integer(value.substr(1), 1, chunks_max);
  return count ? static_cast<std::size_t>(*count) : 0;
}

// How many cookies Auth.js joins to one of its own: all whose names go on behind its name.
std::size_t joined_by_auth_js(const Headers& headers, std::string_view name) noexcept {
  if (!name.ends_with("authjs.session-token") && !name.ends_with("next-auth.session-token")) {
    return 0;
  }
  std::size_t count = 0;
  for (std::size_t nth = 0; const auto line = headers.value("cookie", nth); ++nth) {
    each_part(*line, ';', [&](std::string_view part) {
      const std::string_view found = without_space(part.substr(0, part.find('=')));
      if (found.starts_with(name) && found.size() > name.size()) ++count;
    });
  }
  return count;
}

// Whether the name is one of the words between '&' and '=' in a text that may be encoded as a
// whole.
bool has_word(std::string_view text, std::string_view name) noexcept {
  while (!text.empty()) {
    std::string_view rest = text;
    std::size_t size = 0;  // of the first word
    for (char c = '\0'; c != '&' && c != '=';) {
      size = text.size() - rest.size();
      c = rest.empty() ? '&' : take_percent_decoded(rest);
    }
    if (is_name(text.substr(0, size), name)) return true;
    text = rest;
  }
  return false;
}

OnlyValue<FormDecoder> find_argument(const Request& request, std::string_view name) noexcept {
  OnlyValue<FormDecoder> only;
  const auto add_named = [&](std::string_view pair) {
    const std::size_t equals = pair.find('=');
    if (!is_name(pair.substr(0, equals), name)) return;
    if (equals == pair.npos) return only.add({});
    // Some upstreams end the query at a '#'.
    const std::string_view value = pair.substr(equals + 1);
    only.add(without_encoded_space(value.substr(0, value.find('#'))));
  };
  const std::string_view query = request.query;
  const bool has_semicolon = query.find(';') != query.npos;
  each_part(query, '&', [&](std::string_view pair) {
    add_named(pair);
    // Rack up to 2.2 also separates arguments by ';'.
    if (has_semicolon && pair.find(';') != pair.npos) each_part(pair, ';', add_named);
  });
  // h3 1 begins the query at the first encoded '?' of the path, which it decodes as a whole.
  const std::size_t end = find_encoded_question_mark(request.path);
  if (end != query.npos &&
      has_word(request.path.substr(end + encoded_question_mark.size()), name)) {
    only.add_unclear({});
  }
  // Fastify up to 4 begins it at the first ';'. Its last pair goes on behind the '?'.
  const std::size_t begin = request.path.find(';');
  if (begin == query.npos) return only;
  const std::string_view in_path = request.path.substr(begin + 1);
  each_part(in_path, '&', [&](std::string_view pair) {
    const bool goes_on = !query.empty() && pair.end() == in_path.end();
    if (!goes_on) return add_named(pair);
    if (is_name(pair.substr(0, pair.find('=')), name)) only.add_unclear(pair);
  });
  return only;
}

// What servers in Java append to the id of a session, such as the name of a server, and ignore: "."
// Jetty and WildFly, "!" WebLogic, ":" WebSphere.
void drop_route(std::string_view cookie, std::string& out, std::size_t begin) {
  if (!equal_ignoring_case(cookie, "jsessionid")) return;
  out.resize(std::min(out.find_first_of(".!:", begin), out.size()));
}

// Whether a cookie's value is JSON to Express' cookie-parser, and no object: a text has many forms
// in JSON.
bool is_json_text(std::string_view value) noexcept {
  constexpr std::string_view prefix = "j:";
  if (!value.starts_with(prefix)) return false;
  const std::size_t begin = value.find_first_not_of(" \t\r\n", prefix.size());
  return begin == value.npos || value[begin] != '{';
}

// Writes a cookie's decoded value in out[begin..] in one form.
void fold_cookie(std::string_view name, std::string& out, std::size_t begin) {
  const std::string_view value = without_space(std::string_view(out).substr(begin));
  if (is_json_text(value)) return out.resize(begin);
  const auto before = static_cast<std::size_t>(value.data() - out.data()) - begin;
  out.resize(begin + before + value.size());
  out.erase(begin, before);
  // A '+' is a space here. In a signature it is what '-' is in the alphabet for URLs, and a space
  // is nothing: without all of them the token is one.
  if (is_sealed(std::string_view(out).substr(begin))) {
    const auto from = out.begin() + static_cast<std::string::difference_type>(begin);
    out.erase(std::remove_if(from, out.end(), [](char c) { return c == ' ' || c == '-'; }),
              out.end());
  }
  fold_value(out, begin);
  drop_route(name, out, begin);
}

}  // namespace

void append_header(const Headers& headers, std::string_view name, std::string& out) {
  append_lines(name, out,
               [&, nth = std::size_t{0}]() mutable { return headers.value(name, nth++); });
}

void append_line(std::string_view name, std::string_view line, std::string& out) {
  const std::size_t begin = out.size();
  if (has_credentials(name)) ListWriter(out).add_line(take_word(line));
  ListWriter(out, out.size() > begin ? " " : "").add_line(line);
  const auto from = out.begin() + static_cast<std::ptrdiff_t>(begin);
  std::transform(from, out.end(), from, lower);
}

void append_header_value(std::string_view name, std::string_view value, std::string& out) {
  append_lines(name, out, [&, line = std::optional(value)]() mutable {
    return std::exchange(line, std::nullopt);
  });
}

void append_cookie(const Headers& headers, std::string_view name, std::string& out) {
  const std::size_t begin = out.size();
  const OnlyValue<CookieDecoder> only = find_cookie(headers, name);
  if (const std::size_t count = joined_by_auth_js(headers, name)) {
    // Only as Auth.js itself splits: others could be split in another place by each request.
    const bool is_whole = only.presence() == Presence::absent && count <= chunks_max;
    if (is_whole) append_chunks(headers, std::string(name) + '.', 0, count, out);
  } else {
    only.append_to(out);
    if (const auto chunks = chunk_count(std::string_view(out).substr(begin))) {
      out.resize(begin);
      append_chunks(headers, std::string(name) + 'C', 1, *chunks, out);
    }
  }
  fold_cookie(name, out, begin);
}

void append_cookie_value(std::string_view name, std::string_view value, std::string& out) {
  const std::size_t begin = out.size();
  for (const char c : value) out.push_back(c == '+' ? ' ' : c);
  fold_cookie(name, out, begin);
}

void append_argument(const Request& request, std::string_view name, std::string& out) {
  const std::size_t begin = out.size();
  find_argument(request, name).append_to(out);
  fold_value(out, begin);
}

void append_argument_value(std::string_view value, std::string& out) {
  const std::size_t begin = out.size();
  out.append(without_space(value));
  fold_value(out, begin);
}

Presence presence_of_header(const Headers& headers, std::string_view name) noexcept {
  Presence found = Presence::absent;
  for (std::size_t nth = 0; const auto line = headers.value(name, nth); ++nth) {
    if (line->find_first_not_of(", \t") != line->npos) return Presence::present;
    found = Presence::unclear;
  }
  return found;
}

Presence presence_of_cookie(const Headers& headers, std::string_view name) noexcept {
  const Presence presence = find_cookie(headers, name).presence();
  return joined_by_auth_js(headers, name) > 0 ? Presence::unclear : presence;
}

Presence presence_of_argument(const Request& request, std::string_view name) noexcept {
  return find_argument(request, name).presence();
}

}  // namespace headgate::policy
