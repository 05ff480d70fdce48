// With what new connections to Redis are opened. It can be replaced while they are in use.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "headgate/net/tls.h"

namespace headgate::redis {

struct Login {
  std::string password;  // empty: none
  // Null: without TLS. Unix sockets are always without.
  std::shared_ptr<const net::TlsContext> tls;
};

// Thread-safe. Copies throw std::bad_alloc.
class CurrentLogin {
 public:
  CurrentLogin() = default;
  CurrentLogin(const CurrentLogin& other) : login_(other.get()) {}
  CurrentLogin& operator=(const CurrentLogin& other) {
    replace(other.get());
    return *this;
  }
  ~CurrentLogin() = default;

  [[nodiscard]] Login get() const {
    const std::lock_guard lock(lock_);
    return login_;
  }
  void replace(Login login) noexcept {
    const std::lock_guard lock(lock_);
    std::swap(login_, login);
  }

 private:
  mutable std::mutex lock_;
  Login login_;
};

}  // namespace headgate::redis
