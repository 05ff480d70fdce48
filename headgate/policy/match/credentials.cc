#include "headgate/policy/match/credentials.h"

#include <algorithm>
#include <optional>

#include "headgate/base/ascii.h"
#include "headgate/base/find_ignoring_case.h"
#include "headgate/policy/match/base64.h"

namespace headgate::policy {
namespace {

// The scheme that many programs take out of the header wherever it is: replace("Bearer ", "").
// Laravel reads what follows the last one.
constexpr std::string_view bearer = "bearer";

// RFC 9110, section 11.4: name=value or name="value".
struct Parameter {
  std::string_view name;
  std::string_view value;  // without quotes, but not decoded
};

// A narrower name than a token of HTTP, so that no JWT and no base64 is one.
bool is_name(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '_';
  });
}

// Removes and returns the value at the beginning of a text, or returns std::nullopt.
std::optional<std::string_view> take_value(std::string_view& text) noexcept {
  const bool quoted = text.starts_with('"');
  std::size_t end = quoted ? 1 : 0;
  if (quoted) {
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) return std::nullopt;
  } else {
    // Base64 may end with '='.
    end = std::min(text.find_first_of(", "), text.size());
    if (end == 0 || text[0] == '=' || text[0] == ';') return std::nullopt;
  }
  const std::string_view value = quoted ? text.substr(1, end - 1) : text.substr(0, end);
  text.remove_prefix(quoted ? end + 1 : end);
  return value;
}

// Removes and returns the first parameter of a list, and the comma behind it, or returns
// std::nullopt.
std::optional<Parameter> take_parameter(std::string_view& list) noexcept {
  constexpr std::string_view comma = ", ";  // as it is in a folded header
  const std::size_t equals = list.find('=');
  if (equals == list.npos || !is_name(list.substr(0, equals))) return std::nullopt;
  const std::string_view name = list.substr(0, equals);
  list.remove_prefix(equals + 1);
  const auto value = take_value(list);
  if (!value) return std::nullopt;
  if (list.starts_with(comma)) {
    list.remove_prefix(comma.size());
  } else if (!list.empty()) {
    return std::nullopt;
  }
  return Parameter{name, *value};
}

bool has_bearer(std::string_view text) noexcept {
  return find_ignoring_case(text, bearer) != text.npos;
}

enum class Form {
  one,         // a single text
  token,       // parameters with a `token`: only this one counts
  parameters,  // others
  unclear,
};

// Returns the form of credentials, and the token among their parameters.
Form form_of(std::string_view credentials, std::string_view& token) noexcept {
  if (has_bearer(credentials)) return Form::unclear;
  // Rails ends a token at a ';', and leaves out a quote at either end.
  bool is_clear = true;
  std::size_t tokens = 0;
  std::string_view rest = credentials;
  std::optional<Parameter> parameter;
  while (!rest.empty() && (parameter = take_parameter(rest))) {
    if (!equal_ignoring_case(parameter->name, "token")) continue;
    token = parameter->value;
    is_clear &= token.find_first_of(" ,;\"") == token.npos;
    ++tokens;
  }
  if (parameter && tokens > 0) return is_clear && tokens == 1 ? Form::token : Form::unclear;
  const std::string_view ends = parameter ? " ;" : " ;\"";
  if (credentials.find_first_of(ends) == credentials.npos) return Form::one;
  const bool is_list = parameter && credentials.find(' ') != credentials.npos;
  return is_list && is_clear ? Form::parameters : Form::unclear;
}

bool fold_basic(std::string& text, std::size_t begin) {
  const auto end = fold_base64(text, begin, text.size(), begin, Base64Alphabet::standard);
  if (!end) return false;
  text.resize(*end);
  if (const std::size_t over = (*end - begin) % 4; over > 0) text.append(4 - over, '=');
  return true;
}

// A program that does not look at the scheme decodes user and password behind any: the key is that
// of "Basic".
bool fold_word(std::string& text, std::size_t begin) {
  const std::string_view word = std::string_view(text).substr(begin);
  const bool is_basic = !is_sealed(word) && is_user_and_password(word);
  return !is_basic || fold_basic(text, begin);
}

}  // namespace

bool has_credentials(std::string_view header) noexcept {
  return header == "authorization" || header == "proxy-authorization";
}

bool fold_credentials(std::string_view scheme, std::string& text, std::size_t begin) {
  if (scheme.find(',') != scheme.npos) return false;
  if (scheme.size() > bearer.size() && has_bearer(scheme)) return false;
  if (text.size() == begin) {
    text.append(scheme);
    return fold_word(text, begin);
  }
  if (scheme.empty()) return false;  // one program reads the first line, another all
  if (equal_ignoring_case(scheme, "basic")) return fold_basic(text, begin);
  std::string_view token;
  const std::string_view credentials = std::string_view(text).substr(begin);
  switch (form_of(credentials, token)) {
    case Form::one:
      return fold_word(text, begin);
    case Form::token: {
      const auto from = static_cast<std::size_t>(token.data() - text.data());
      text.resize(from + token.size());
      text.erase(begin, from - begin);
      return true;
    }
    case Form::parameters: {
      const auto at = [&] { return text.begin() + static_cast<std::ptrdiff_t>(begin); };
      text.insert(begin, 1, ' ');
      text.insert(begin, scheme);
      std::transform(at(), at() + static_cast<std::ptrdiff_t>(scheme.size()), at(), lower);
      return true;
    }
    case Form::unclear:
      break;
  }
  return false;
}

}  // namespace headgate::policy
