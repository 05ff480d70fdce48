#include "headgate/net/token_file.h"

#include <sys/stat.h>

#include <string_view>

#include "headgate/base/regular_file.h"

namespace headgate::net {

Result<std::string, std::string> read_token(const std::string& path) {
  constexpr std::size_t token_min = 16;  // 64 bits if it is random hex: too many to guess
  constexpr std::size_t token_max = 4096;
  constexpr std::string_view expected = "; expected a file whose first line is the token";
  auto text = read_regular_file(path, token_max);
  if (!text) return Failure<std::string>(path + ": " + text.error() + std::string(expected));
  if (text->empty()) return Failure<std::string>(path + ": is empty" + std::string(expected));
  std::string token = text->substr(0, text->find('\n'));
  if (token.size() > token_max) {
    return Failure<std::string>(path + ": expected a token of at most " +
                                std::to_string(token_max) + " characters on the first line");
  }
  struct stat found = {};
  if (stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & S_IWOTH) != 0) {
    return Failure<std::string>(path + ": every user of this machine can write it and so choose " +
                                "the token; expected chmod 600");
  }
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.size() < token_min) {
    return Failure<std::string>(path + ": expected a token of at least " +
                                std::to_string(token_min) + " characters on the first line");
  }
  for (const char c : token) {
    if (c <= ' ' || c > '~') {
      return Failure<std::string>(path + ": expected a token of printable ASCII without spaces");
    }
  }
  return token;
}

std::optional<std::string> exposed_secret(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  const bool group = (found.st_mode & S_IRGRP) != 0;
  const bool all = (found.st_mode & S_IROTH) != 0;
  if (!group && !all) return std::nullopt;
  return path + ": " + (all ? "every user of this machine" : "its group") +
         " can read this secret; expected chmod 600";
}

}  // namespace headgate::net
