#include "headgate/redis/settings_options.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "headgate/base/regular_file.h"

namespace headgate::redis {
namespace {

// Redis limits the length of commands before it knows who sends them.
constexpr std::size_t password_max = 1024;

// The first line of the file.
Result<std::string, std::string> read_password(const std::string& path) {
  const auto failure = [&](const std::string& why) {
    return Failure<std::string>("password-file " + path + " " + why +
                                "; expected a file whose first line is Redis' password");
  };
  auto text = read_regular_file(path, password_max);
  if (!text) return failure(text.error());
  text->resize(std::min(text->size(), text->find_first_of("\r\n")));
  if (text->empty()) return failure("is empty");
  if (text->size() > password_max) return failure("has a longer line");
  return std::move(*text);
}

}  // namespace

Result<Login, std::string> login_of(const policy::RedisSettings& settings) {
  Login login;
  if (!settings.password_file.empty()) {
    auto password = read_password(settings.password_file);
    if (!password) return Failure<std::string>(std::move(password.error()));
    login.password = std::move(*password);
  }
  if (settings.tls) {
    auto tls =
        net::TlsContext::load_for_client(settings.tls->ca, settings.tls->cert, settings.tls->key);
    if (!tls) return Failure<std::string>("tls: " + tls.error());
    login.tls = std::move(*tls);
  }
  return login;
}

Result<Options, std::string> options_of(const policy::RedisSettings& settings) {
  Options options;
  options.nodes = settings.nodes;
  options.cluster = settings.cluster;
  options.sentinel = settings.sentinel;
  options.user = settings.user;
  options.timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(settings.timeout / 1'000'000));
  options.prefix = settings.prefix;
  if (settings.tls) options.server_name = settings.tls->server_name;
  auto login = login_of(settings);
  if (!login) return Failure<std::string>(std::move(login.error()));
  options.login.replace(std::move(*login));
  return options;
}

}  // namespace headgate::redis
