#include "headgate/cli/fetch/name.h"

#include <array>
#include <cstdio>

#include "headgate/base/ascii.h"
#include "headgate/base/siphash.h"

namespace headgate::cli {
namespace {

bool is_harmless(char c) {
  return is_letter(c) || is_digit(c) ||
         std::string_view("-_.,=+@%~").find(c) != std::string_view::npos;
}

std::string hash_of(std::string_view text) {
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx",
                static_cast<unsigned long long>(public_hash({}, text).lo));
  return hex.data();
}

}  // namespace

std::string file_name_of(std::string_view url) {
  std::string_view rest = url;
  if (const auto scheme = rest.find("://"); scheme != rest.npos) rest.remove_prefix(scheme + 3);
  const auto root = rest.find_first_of("/?");
  rest = root == rest.npos ? std::string_view() : rest.substr(root);
  const auto query = std::min(rest.find('?'), rest.size());
  const std::string_view path = rest.substr(0, query);
  const auto slash = path.rfind('/');
  std::string_view last = slash == path.npos ? path : path.substr(slash + 1);
  if (last.empty()) last = "index";

  std::string name;
  if (last.starts_with('.') || last.starts_with('-')) {
    name = "_";  // not hidden, and not an option of rm and others
  }
  name.append(last).append(rest.substr(query));
  for (char& c : name) {
    if (!is_harmless(c)) c = '_';
  }
  if (name.size() > file_name_max) {
    const std::string hash = hash_of(url);
    name = name.substr(0, file_name_max - hash.size() - 1) + '-' + hash;
  }
  return name;
}

std::string numbered(const std::string& name, std::size_t number) {
  const std::string suffix = '-' + std::to_string(number);
  const auto dot = name.rfind('.');
  // A longer end is not an extension.
  const bool extension = dot != name.npos && dot > 0 && name.size() - dot <= 10;
  std::string stem = extension ? name.substr(0, dot) : name;
  const std::string end = extension ? name.substr(dot) : std::string();
  if (stem.size() + suffix.size() + end.size() > file_name_max) {
    stem.resize(file_name_max - suffix.size() - end.size());
  }
  return stem + suffix + end;
}

}  // namespace headgate::cli
