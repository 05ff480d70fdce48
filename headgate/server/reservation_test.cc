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
    append_reservation(context_, text);
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
  const auto read = ReadReservation::read(text, *policies_, bytes);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_whole());
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

TEST_F(ReservationTest, EachHasItsOwnId) {
  std::string one;
  std::string two;
  const auto first = ReadReservation::read(reserve(1), *policies_, one);
  const auto second = ReadReservation::read(reserve(1), *policies_, two);
  EXPECT_NE(first->reservation().id, second->reservation().id);
}

TEST_F(ReservationTest, OutlivesTheReloadThatRemovesAPolicy) {
  const auto other = load("{name: others, quota: 1000, window: 1h}");
  std::string bytes;
  const auto read = ReadReservation::read(reserve(1), *other, bytes);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->is_whole());
  EXPECT_TRUE(read->reservation().dues.empty());
}

TEST_F(ReservationTest, RefusesOtherTexts) {
  const std::string text = reserve(600);
  std::string bytes;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto read = ReadReservation::read(text.substr(0, size), *policies_, bytes);
    EXPECT_TRUE(!read || read->reservation().dues.empty()) << size;
  }
  EXPECT_FALSE(ReadReservation::read(text + "0", *policies_, bytes));
  EXPECT_FALSE(ReadReservation::read(text + "zz", *policies_, bytes));
  EXPECT_FALSE(ReadReservation::read("never", *policies_, bytes));
}

}  // namespace
}  // namespace headgate::server
