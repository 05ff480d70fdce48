#include "headgate/cli/token_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace headgate::cli {

Result<std::string, std::string> read_token(const std::string& path) {
  constexpr std::size_t token_min = 16;  // 64 bits if it is random hex: too many to guess
  errno = 0;
  std::ifstream file(path);
  std::string token;
  if (!file || !std::getline(file, token)) {
    const std::string why = file.eof() ? "is empty" : std::strerror(errno);
    return Failure<std::string>(path + ": " + why +
                                "; expected a file whose first line is the token");
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

}  // namespace headgate::cli
