#include "headgate/server/credentials.h"

#include <utility>

#include "headgate/net/same_secret.h"
#include "headgate/net/token_file.h"

namespace headgate::server {
namespace {

Result<std::shared_ptr<Secrets>, std::string> read(const CredentialFiles& files) {
  auto secrets = std::make_shared<Secrets>();
  const auto read_into = [](std::string& token,
                            const std::string& path) -> Result<void, std::string> {
    if (path.empty()) return {};
    auto read = net::read_token(path);
    if (!read) return Failure<std::string>(read.error());
    token = std::move(*read);
    return {};
  };
  struct Token {
    std::string& text;
    const std::string& file;
  };
  const Token tokens[] = {{secrets->admin_token, files.admin_token},
                          {secrets->token, files.token},
                          {secrets->read_token, files.read_token}};
  for (const Token& token : tokens) {
    if (const auto done = read_into(token.text, token.file); !done) {
      return Failure<std::string>(done.error());
    }
    for (const Token* more = tokens; more != &token; ++more) {
      if (token.text.empty() || token.text != more->text) continue;
      return Failure<std::string>(token.file + ": expected another token than in " + more->file +
                                  ", which may do more");
    }
  }
  if (files.tls.used()) {
    auto tls = net::TlsContext::load(files.tls.cert, files.tls.key, files.tls.client_ca);
    if (!tls) return Failure<std::string>(tls.error());
    secrets->tls = std::move(*tls);
  }
  return secrets;
}

}  // namespace

Access Secrets::access_of(std::string_view shown) const noexcept {
  if (!admin_token.empty() && net::same_secret(shown, admin_token)) return Access::admin;
  if (!token.empty() && net::same_secret(shown, token)) return Access::all;
  return !read_token.empty() && net::same_secret(shown, read_token) ? Access::read : Access::none;
}

Result<std::shared_ptr<Credentials>, std::string> Credentials::open(CredentialFiles files) {
  auto secrets = read(files);
  if (!secrets) return Failure<std::string>(secrets.error());
  auto credentials = std::make_shared<Credentials>();
  credentials->files_ = std::move(files);
  credentials->in_force_ = std::move(*secrets);
  return credentials;
}

Result<bool, std::string> Credentials::reload() {
  if (files_.token.empty() && files_.admin_token.empty() && !files_.tls.used()) return false;
  auto secrets = read(files_);
  if (!secrets) return Failure<std::string>(secrets.error());
  const std::lock_guard lock(mutex_);
  const Secrets& before = *in_force_;
  Secrets& next = **secrets;
  next.token_number = next.token == before.token ? before.token_number : ++last_token_number_;
  next.admin_token_number =
      next.admin_token == before.admin_token ? before.admin_token_number : ++last_token_number_;
  in_force_ = std::move(*secrets);
  number_.fetch_add(1, std::memory_order_release);
  return true;
}

std::shared_ptr<const Secrets> Credentials::in_force() const {
  const std::lock_guard lock(mutex_);
  return in_force_;
}

void Credentials::count_wrong_token(std::string from) {
  const std::lock_guard lock(mutex_);
  ++wrong_.count;
  wrong_.last_from = std::move(from);
}

Credentials::Wrong Credentials::take_wrong_tokens() {
  const std::lock_guard lock(mutex_);
  return std::exchange(wrong_, {});
}

std::vector<std::string> Credentials::warnings() const {
  std::vector<std::string> all;
  for (const std::string* path :
       {&files_.token, &files_.read_token, &files_.admin_token, &files_.tls.key}) {
    if (path->empty()) continue;
    if (auto sentence = net::exposed_secret(*path)) all.push_back(std::move(*sentence));
  }
  return all;
}

}  // namespace headgate::server
