#include "headgate/cli/gateway/nginx_version.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace headgate::cli {

NginxVersion parse_nginx_version(std::string_view text) noexcept {
  constexpr std::string_view name = "nginx/";
  NginxVersion version;
  const std::size_t at = text.find(name);
  if (at == text.npos) return version;
  const char* begin = text.data() + at + name.size();
  const char* const end = text.data() + text.size();
  for (unsigned* part : {&version.major, &version.minor, &version.patch}) {
    const auto read = std::from_chars(begin, end, *part);
    if (read.ec != std::errc{}) return {};
    begin = read.ptr;
    if (begin != end && *begin == '.') ++begin;
  }
  return version;
}

NginxVersion nginx_version(const std::string& nginx) {
  int said[2];
  if (pipe2(said, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(said[1], STDERR_FILENO);
    execl(nginx.c_str(), "nginx", "-v", static_cast<char*>(nullptr));
    _exit(1);
  }
  close(said[1]);
  std::string text;
  char bytes[256];
  for (ssize_t size; (size = read(said[0], bytes, sizeof bytes)) != 0;) {
    if (size < 0 && errno != EINTR) break;
    if (size > 0) text.append(bytes, static_cast<std::size_t>(size));
  }
  close(said[0]);
  if (child > 0) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return parse_nginx_version(text);
}

}  // namespace headgate::cli
