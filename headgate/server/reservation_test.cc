#include "headgate/server/reservation.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "headgate/gate/gate.h"
#include "headgate/policy/file/load.h"
#include "headgate/store/table.h"

namespace headgate::server {
namespace {

std::shared_ptr<const policy::PolicySet> load(std::string_view policies) {
  return policy::load_text("version: 1\npolicies: [" + std::string(policies) + "]", "f").value();
}

class ReservationTest : public testing::Test {
 protected:
  std::string reserve(std::uint64_t cost) {
    const gate::Check check{"tokens", "a", cost};
    EXPECT_EQ(gate_.reserve({&check, 1}, std::nullopt, context_), std::nullopt);
    std::string text;
    append_reservation(context_, time_of(*table_), text);
    return text;
  }

  const std::shared_ptr<const policy::PolicySet> policies_ =
      load("{name: tokens, quota: 1000, window: 1h}");
  const std::unique_ptr<store::Table> table_ = store::Table::open({.memory = 1 << 20}).value();
  const gate::Gate gate_{policies_, *table_, table_->secret(), {}};
  gate::DecisionContext context_;
};

TEST_F(ReservationTest, ReadsWhatWasWritten) {
  const std::string text = reserve(600);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
  std::string bytes;
  const auto read = ReadReservation::read(text, *policies_, time_of(*table_), bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->gone(), std::nullopt);
  const gate::Reservation reservation = read->reservation();
  EXPECT_EQ(reservation.taken, context_.now);
  ASSERT_EQ(reservation.dues.size(), 1u);
  EXPECT_EQ(reservation.dues[0].policy->name, "tokens");
  EXPECT_EQ(reservation.dues[0].cost, 600u);
  EXPECT_EQ(reservation.dues[0].remaining, 400u);
  const std::optional<std::uint64_t> cost = 100;
  ASSERT_TRUE(gate_.settle(reservation, {&cost, 1}, std::nullopt, context_));
  EXPECT_EQ(context_.settled, gate::Settled::yes);
}

// As that of another machine, or of this one after a new table.
TEST_F(ReservationTest, IsReadWithAnotherTablesClock) {
  const std::string text = reserve(600);
  for (const Nanos ahead : {-3000 * nanos_per_second, 1'000'000 * nanos_per_second}) {
    std::string bytes;
    TableTime other = time_of(*table_);
    ++other.table;
    other.to_wall -= ahead;
    const auto read = ReadReservation::read(text, *policies_, other, bytes);
    ASSERT_TRUE(read);
    // Wall time may be set a little while the test runs.
    const Nanos apart = read->reservation().taken.ns - context_.now.ns - ahead;
    EXPECT_LT(apart < 0 ? -apart : apart, 60 * nanos_per_second);
  }
}

TEST_F(ReservationTest, AStepOfTheWallClockChangesNothing) {
  const std::string text = reserve(600);
  for (const Nanos step : {-3000 * nanos_per_second, 1'000'000 * nanos_per_second}) {
    std::string bytes;
    TableTime later = time_of(*table_);
    later.to_wall += step;
    const auto read = ReadReservation::read(text, *policies_, later, bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->reservation().taken, context_.now);
  }
}

TEST_F(ReservationTest, EachHasItsOwnId) {
  std::string one;
  std::string two;
  const auto first = ReadReservation::read(reserve(1), *policies_, time_of(*table_), one);
  const auto second = ReadReservation::read(reserve(1), *policies_, time_of(*table_), two);
  EXPECT_NE(first->reservation().id, second->reservation().id);
}

TEST_F(ReservationTest, OutlivesTheReloadThatRemovesAPolicy) {
  for (const char* const policies :
       {"{name: others, quota: 1000, window: 1h}", "{name: tokens, quota: 2000, window: 1h}"}) {
    const auto other = load(policies);
    std::string bytes;
    const auto read = ReadReservation::read(reserve(1), *other, time_of(*table_), bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->gone(), "tokens");
    EXPECT_TRUE(read->reservation().beside.starts_with("\6tokens"))
        << "also if it is settled later";
    EXPECT_TRUE(read->reservation().dues.empty());
    EXPECT_EQ(read->missing({}), "tokens") << policies;
  }
}

TEST_F(ReservationTest, IsSettledIfThatCorrectsAnything) {
  const auto all = load(
      "{name: tokens, quota: 9, window: 1h}, {name: daily, quota: 9, window: 1d}, "
      "{name: slots, quota: 1, algorithm: concurrency}");
  const gate::Gate gate(all, *table_, table_->secret(), {});
  const gate::Check checks[] = {{"tokens", "a", 1}, {"daily", "a", 1}, {"slots", "a", 1}};
  const std::optional<std::uint64_t> none[3];
  const std::optional<std::uint64_t> first[3] = {0};
  const auto missing = [&](std::size_t from, std::size_t count, std::string_view policies,
                           std::span<const std::optional<std::uint64_t>> costs) {
    const auto asked = std::span(checks).subspan(from, count);
    EXPECT_EQ(gate.reserve(asked, std::nullopt, context_), std::nullopt);
    std::string text;
    append_reservation(context_, time_of(*table_), text);
    const auto in_force = load(policies);
    std::string bytes;
    const auto read = ReadReservation::read(text, *in_force, time_of(*table_), bytes);
    const auto gone = read->missing(costs);
    return gone ? std::string(*gone) : std::string();
  };
  const std::string tokens = "{name: tokens, quota: 9, window: 1h}";
  const std::string slots = "{name: slots, quota: 1, algorithm: concurrency}";
  EXPECT_EQ(missing(0, 1, tokens, none), "") << "all is there, and stays charged";
  EXPECT_EQ(missing(0, 2, tokens, first), "") << "what is there is corrected";
  EXPECT_EQ(missing(0, 2, tokens, none), "daily");
  EXPECT_EQ(missing(1, 2, slots, none), "") << "a slot is released";
}

TEST_F(ReservationTest, RefusesOtherTexts) {
  const std::string text = reserve(600);
  std::string bytes;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto read =
        ReadReservation::read(text.substr(0, size), *policies_, time_of(*table_), bytes);
    EXPECT_TRUE(!read || read->reservation().dues.empty()) << size;
  }
  EXPECT_FALSE(ReadReservation::read(text + "0", *policies_, time_of(*table_), bytes));
  EXPECT_FALSE(ReadReservation::read(text + "zz", *policies_, time_of(*table_), bytes));
  EXPECT_FALSE(ReadReservation::read("never", *policies_, time_of(*table_), bytes));
}

}  // namespace
}  // namespace headgate::server
