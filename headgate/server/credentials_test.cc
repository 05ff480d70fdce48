#include "headgate/server/credentials.h"

#include <gtest/gtest.h>

#include "headgate/server/testing/token_file.h"

namespace headgate::server {
namespace {

class CredentialsTest : public ::testing::Test {
 protected:
  // The number of a token, as a connection keeps it that shows it now.
  [[nodiscard]] std::uint64_t shown(std::string_view token) const {
    return in_force().number_of(in_force().access_of(token));
  }
  [[nodiscard]] bool knows(std::uint64_t shown) const { return in_force().knows(shown); }
  void reload() { EXPECT_TRUE(credentials_->reload()); }

  TokenFile token_{"the-first-token-of-all"};
  TokenFile read_token_{"the-token-for-reading"};
  TokenFile admin_token_{"the-token-of-an-admin"};
  std::shared_ptr<Credentials> credentials_ = Credentials::open({.token = token_.path(),
                                                                 .read_token = read_token_.path(),
                                                                 .admin_token = admin_token_.path(),
                                                                 .tls = {}})
                                                  .value();

 private:
  [[nodiscard]] const Secrets& in_force() const { return *credentials_->in_force(); }
};

TEST_F(CredentialsTest, AClientIsKnownUntilItsTokenIsReplaced) {
  const std::uint64_t first = shown("the-first-token-of-all");
  const std::uint64_t admin = shown("the-token-of-an-admin");
  EXPECT_TRUE(knows(first));
  EXPECT_TRUE(knows(admin));
  token_.write("the-second-token-of-all");
  reload();
  EXPECT_FALSE(knows(first));
  EXPECT_TRUE(knows(admin));
  const std::uint64_t second = shown("the-second-token-of-all");
  EXPECT_TRUE(knows(second));
  admin_token_.write("the-token-of-another-admin");
  reload();
  EXPECT_TRUE(knows(second));
  EXPECT_FALSE(knows(admin));
  token_.write("the-first-token-of-all");
  reload();
  EXPECT_FALSE(knows(first)) << "it has not been shown since";
  EXPECT_FALSE(knows(second));
}

TEST_F(CredentialsTest, AClientIsKnownByATokenThatMayDecide) {
  EXPECT_FALSE(knows(shown("the-token-for-reading")));
  EXPECT_FALSE(knows(shown("no-token-of-this-server")));
  EXPECT_FALSE(knows(0));
}

TEST(Credentials, EveryClientIsKnownWhereNoTokenIsNeeded) {
  EXPECT_TRUE(Credentials().in_force()->knows(0));
}

}  // namespace
}  // namespace headgate::server
