#include "headgate/gate/correction.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "headgate/gate/testing/policies.h"

namespace headgate::gate {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Instant taken{1000 * second};

// A limit of 100 units per 10 s that machines share.
class Shared {
 public:
  explicit Shared(const std::string& more)
      : policies_(loaded("store: {redis: {nodes: [\"unix:/none\"]}}\n"
                         "policies: [{name: p, quota: 100, window: 10s, " +
                         more + "}]\n")) {}

  // How many of 80 units, which left `remaining`, a settlement of 0 gives back after `span`.
  [[nodiscard]] std::uint64_t given_back(std::uint64_t remaining, Nanos span) const {
    const policy::Policy& policy = policies_->policies().front();
    const Due due{&policy, &policy.grants.front(), "k", 80, false, remaining};
    const auto charge = correction_of(due, taken, 80, 0, {taken.ns + span});
    if (!charge) return 0;
    EXPECT_EQ(charge->op, limit::Op::refund);
    return charge->cost;
  }

 private:
  std::shared_ptr<const policy::PolicySet> policies_;
};

TEST(Correction, GivesBackNothingThatHasComeBackByItself) {
  const Shared exact("sharing: exact");
  EXPECT_EQ(exact.given_back(20, 0), 80U);
  EXPECT_EQ(exact.given_back(20, 3 * second), 50U);
  EXPECT_EQ(exact.given_back(20, 8 * second), 0U);
  EXPECT_EQ(exact.given_back(10, 8 * second), 10U) << "of the units before it";
}

// A tenth of the quota is kept back, and is neither left nor in use.
TEST(Correction, OfALeaseGivesBackNothingThatHasComeBackByItself) {
  const Shared linear("sharing: leased");
  EXPECT_EQ(linear.given_back(10, 0), 80U);
  EXPECT_EQ(linear.given_back(10, 3 * second), 50U);
  EXPECT_EQ(linear.given_back(10, 8 * second), 0U);
  EXPECT_EQ(linear.given_back(95, second), 0U) << "units that were taken ahead";
  const Shared window("sharing: leased, algorithm: fixed-window");
  EXPECT_EQ(window.given_back(20, 9 * second), 80U);
  EXPECT_EQ(window.given_back(20, 10 * second), 0U);
}

}  // namespace
}  // namespace headgate::gate
