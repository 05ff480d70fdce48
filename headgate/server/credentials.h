// The secrets of a server's doors: the tokens that callers show, and what TLS needs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/net/tls.h"
#include "headgate/server/tls_files.h"

namespace headgate::server {

// What a caller may do, each more than the one before.
enum class Access : std::uint8_t {
  none,
  read,   // see metrics, lists and policies
  all,    // decide, and see the state of partitions
  admin,  // give quotas back, and change them
};

struct CredentialFiles {
  std::string token;        // what is not for administrators needs this token; empty: none
  std::string read_token;   // callers with this token may only read
  std::string admin_token;  // callers with this token may do everything; empty: no caller may
  TlsFiles tls;
};

// The secrets as their files had them at one time. Immutable.
struct Secrets {
  std::string token;
  std::string read_token;
  std::string admin_token;
  std::shared_ptr<const net::TlsContext> tls;  // nullptr: no TLS
  // Those that may decide have numbers; one that replaces another has another number.
  std::uint64_t token_number = 1;
  std::uint64_t admin_token_number = 2;

  // Whether callers must show a token, also for what is not for administrators.
  [[nodiscard]] bool wants_token() const noexcept { return !token.empty(); }
  // What the caller may do without a token.
  [[nodiscard]] Access access_of_all() const noexcept {
    return wants_token() ? Access::none : Access::all;
  }
  // What the caller may do that shows this token; none if it is a wrong one.
  [[nodiscard]] Access access_of(std::string_view shown) const noexcept;

  // The number of the token that gives this access; 0 if it may not decide.
  [[nodiscard]] std::uint64_t number_of(Access access) const noexcept {
    if (access == Access::admin) return admin_token_number;
    return access == Access::all ? token_number : 0;
  }
  // Whether a client is known, and no stranger: no token is needed, or the last one that it has
  // shown and that may decide is in force. `shown`: the number of that one; 0: there is none.
  [[nodiscard]] bool knows(std::uint64_t shown) const noexcept {
    return !wants_token() || shown == token_number || shown == admin_token_number;
  }
};

// Thread-safe.
class Credentials {
 public:
  Credentials() : in_force_(std::make_shared<const Secrets>()) {}  // no token, no TLS

  // Reads the files. Errors: a sentence that names the file.
  [[nodiscard]] static Result<std::shared_ptr<Credentials>, std::string> open(
      CredentialFiles files);

  // Reads the files again. On an error the secrets in force stay. Returns whether there are any.
  [[nodiscard]] Result<bool, std::string> reload();

  // The secrets in force. Callers keep them and call this again when number() changes.
  [[nodiscard]] std::shared_ptr<const Secrets> in_force() const;
  [[nodiscard]] std::uint64_t number() const noexcept {
    return number_.load(std::memory_order_acquire);
  }

  // Sentences about secrets that other users of the machine can read.
  [[nodiscard]] std::vector<std::string> warnings() const;

  // Wrong tokens that callers have shown.
  struct Wrong {
    std::uint64_t count = 0;
    std::string last_from;  // the address of the last caller
  };
  // Counts one. Throws std::bad_alloc.
  void count_wrong_token(std::string from);
  // Returns those since the last call.
  [[nodiscard]] Wrong take_wrong_tokens();

 private:
  CredentialFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Secrets> in_force_;
  std::atomic<std::uint64_t> number_{1};
  std::uint64_t last_token_number_ = Secrets().admin_token_number;
  Wrong wrong_;
};

// One thread's view of the secrets in force.
class CredentialsView {
 public:
  // `credentials` outlives this.
  explicit CredentialsView(const Credentials& credentials)
      : credentials_(credentials),
        number_(credentials.number()),
        in_force_(credentials.in_force()) {}

  // Ends the life of what was returned before if other secrets are in force now.
  [[nodiscard]] const Secrets& now() noexcept {
    if (const std::uint64_t number = credentials_.number(); number != number_) {
      in_force_ = credentials_.in_force();
      number_ = number;
    }
    return *in_force_;
  }

 private:
  const Credentials& credentials_;
  std::uint64_t number_;
  std::shared_ptr<const Secrets> in_force_;
};

}  // namespace headgate::server
