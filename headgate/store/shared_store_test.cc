// What two stores do together. The remote one is a table that can be away.
#include "headgate/store/shared_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headgate/store/table.h"
#include "headgate/store/testing/remote_store.h"

namespace headgate::store {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::OnOutage;
using limit::Op;

constexpr Nanos second = nanos_per_second;

limit::Law law(std::uint64_t quota, Algorithm algorithm = Algorithm::linear) {
  return limit::make_law({quota, 3600 * second}, {.algorithm = algorithm}).value();
}

limit::Shared shared(OnOutage on_outage, const limit::Law& outage_law) {
  return {on_outage, outage_law};
}

std::unique_ptr<Table> table() { return Table::open({.memory = 1 << 20}).value(); }

class SharedStoreTest : public testing::Test {
 protected:
  struct Answer {
    bool admitted = false;
    bool outage = false;
    std::vector<Decision> decisions;
    std::optional<Instant> now;
  };

  Answer take(const std::vector<Charge>& charges) {
    Answer answer;
    answer.decisions.resize(charges.size());
    Bundle bundle{charges, answer.decisions};
    int completions = 0;
    store_.take({&bundle, 1}, answer.now,
                {[](void* count) noexcept { ++*static_cast<int*>(count); }, &completions});
    EXPECT_EQ(completions, 1);
    answer.admitted = bundle.admitted;
    answer.outage = bundle.outage;
    return answer;
  }
  // What is left under a key.
  std::uint64_t left(const Charge& charge) {
    Charge peek = charge;
    peek.cost = 0;
    peek.op = Op::peek;
    return take({peek}).decisions[0].remaining;
  }

  Charge of(const limit::Shared* shared, std::string_view key, std::uint64_t cost = 1) const {
    Charge charge{&ten_, key, cost};
    charge.shared = shared;
    return charge;
  }

  const limit::Law ten_ = law(10);
  const limit::Law slots_ = law(2, Algorithm::concurrency);
  const limit::Shared local_ = shared(OnOutage::local, law(3));
  const limit::Shared local_slots_ = shared(OnOutage::local, slots_);
  const limit::Shared allow_ = shared(OnOutage::allow, {});
  const limit::Shared deny_ = shared(OnOutage::deny, {});

  const std::unique_ptr<Table> remote_table_ = table();
  RemoteStore remote_{*remote_table_};
  const std::unique_ptr<Table> table_ = table();
  std::vector<bool> outages_;
  SharedStore store_{remote_, *table_, [this](bool begins) { outages_.push_back(begins); }};
};

TEST_F(SharedStoreTest, EachChargeIsInItsStore) {
  EXPECT_TRUE(take({of(&local_, "\1k", 4), of(nullptr, "\1k", 1)}).admitted);
  EXPECT_EQ(left(of(&local_, "\1k")), 6U);
  EXPECT_EQ(left(of(nullptr, "\1k")), 9U);
  EXPECT_EQ(take({of(nullptr, "\1k", 1)}).outage, false);
}

TEST_F(SharedStoreTest, WhatIsNotSharedAsksNobodyElse) {
  EXPECT_TRUE(take({of(nullptr, "\1k")}).admitted);
  EXPECT_EQ(remote_.calls, 0);
}

TEST_F(SharedStoreTest, ADenialOfOneTakesNothingFromTheOther) {
  EXPECT_FALSE(take({of(&local_, "\1a", 11), of(nullptr, "\1b", 4)}).admitted);
  EXPECT_FALSE(take({of(&local_, "\1a", 4), of(nullptr, "\1b", 11)}).admitted);
  EXPECT_EQ(left(of(&local_, "\1a")), 10U);
  EXPECT_EQ(left(of(nullptr, "\1b")), 10U);
  EXPECT_EQ(remote_.calls, 3) << "a denial by the table needs one round trip, too";
}

// The remote store was told to take nothing.
TEST_F(SharedStoreTest, WhatTheTableDidNotHaveStaysDeniedIfItComesBackMeanwhile) {
  const auto slots = [&](Op op) {
    Charge charge{&slots_, "\1s", 2, op};
    return charge;
  };
  EXPECT_TRUE(take({slots(Op::spend)}).admitted);
  remote_.before_answer = [&] { EXPECT_EQ(take({slots(Op::refund)}).decisions[0].remaining, 2U); };
  const Answer answer = take({of(&local_, "\1a", 4), slots(Op::spend)});
  EXPECT_FALSE(answer.admitted);
  EXPECT_TRUE(answer.decisions[0].admitted);
  EXPECT_FALSE(answer.decisions[1].admitted);
  EXPECT_EQ(left(of(&local_, "\1a")), 10U);
  EXPECT_EQ(left(slots(Op::spend)), 2U);
  EXPECT_TRUE(take({of(&local_, "\1a", 4), slots(Op::spend)}).admitted);
}

// The time of a request is known by another clock than that of its record.
TEST_F(SharedStoreTest, ARefundUnderAMovingWindowLeavesLaterRequestsTheirUnits) {
  const limit::Law moving = law(2, Algorithm::moving_window);
  constexpr Nanos apart = second / 100;
  const Instant first{remote_table_->now().ns - 2 * apart};
  const Instant next{first.ns + apart};
  const auto take_at = [&](Charge charge, Instant at) {
    std::optional<Instant> now = at;
    Decision decision;
    Bundle bundle{{&charge, 1}, {&decision, 1}};
    remote_table_->take({&bundle, 1}, now, {});
    return decision;
  };
  EXPECT_TRUE(take_at({&moving, "\1m", 1}, first).admitted);
  EXPECT_TRUE(take_at({&moving, "\1m", 1}, next).admitted);
  Charge refund{&moving, "\1m", 1, Op::refund};
  refund.shared = &local_;
  refund.since.ns = first.ns + apart / 2 + table_->now().ns - remote_table_->now().ns;
  EXPECT_TRUE(take({refund}).admitted);
  const Decision both = take_at({&moving, "\1m", 2, Op::peek}, next);
  EXPECT_EQ(both.wait, 3600 * second) << "until the later request's unit comes back";
}

TEST_F(SharedStoreTest, WhatAnotherRequestTookMeanwhileIsGivenBackExactly) {
  remote_.before_answer = [&] { EXPECT_TRUE(take({of(nullptr, "\1b", 8)}).admitted); };
  const Answer answer = take({of(&local_, "\1a", 4), of(nullptr, "\1b", 4)});
  EXPECT_FALSE(answer.admitted);
  EXPECT_TRUE(answer.decisions[0].admitted);
  EXPECT_EQ(answer.decisions[0].remaining, 10U) << "after it was given back";
  EXPECT_FALSE(answer.decisions[1].admitted);
  EXPECT_EQ(left(of(&local_, "\1a")), 10U);
  EXPECT_EQ(left(of(nullptr, "\1b")), 2U);
}

TEST_F(SharedStoreTest, DuringAnOutageAShareOfTheQuotaIsCountedApart) {
  EXPECT_TRUE(take({of(&local_, "\1k", 10)}).admitted);
  EXPECT_TRUE(take({of(nullptr, "\1k", 10)}).admitted) << "the same key, not shared";
  remote_.away = true;
  const Answer alone = take({of(&local_, "\1k", 3)});
  EXPECT_TRUE(alone.admitted);
  EXPECT_TRUE(alone.outage);
  EXPECT_TRUE(alone.now);
  EXPECT_FALSE(take({of(&local_, "\1k", 1)}).admitted);
  remote_.away = false;
  EXPECT_FALSE(take({of(&local_, "\1k", 1)}).admitted) << "the remote state is as before";
  EXPECT_FALSE(take({of(&local_, "\1k", 1)}).outage);
}

TEST_F(SharedStoreTest, DuringAnOutageAllowAdmitsAndDenyDenies) {
  remote_.away = true;
  EXPECT_TRUE(take({of(&allow_, "\1k", 100)}).admitted);
  const Answer denied = take({of(&deny_, "\1k", 1)});
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.decisions[0].wait, SharedStore::outage_wait);
  EXPECT_TRUE(take({of(&deny_, "\1k", 0)}).admitted) << "a cost of 0 is always admitted";
}

TEST_F(SharedStoreTest, DuringAnOutageABundleIsAllOrNone) {
  remote_.away = true;
  const Answer denied = take({of(&local_, "\1a", 2), of(nullptr, "\1b", 2), of(&deny_, "\1c", 2)});
  EXPECT_FALSE(denied.admitted);
  EXPECT_TRUE(denied.decisions[0].admitted);
  EXPECT_FALSE(denied.decisions[2].admitted);
  EXPECT_FALSE(
      take({of(&local_, "\1a", 4), of(nullptr, "\1b", 2), of(&allow_, "\1c", 2)}).admitted);
  EXPECT_EQ(left(of(&local_, "\1a")), 3U);
  EXPECT_EQ(left(of(nullptr, "\1b")), 10U);
  EXPECT_TRUE(take({of(&local_, "\1a", 3), of(nullptr, "\1b", 2), of(&allow_, "\1c", 2)}).admitted);
  EXPECT_EQ(left(of(nullptr, "\1b")), 8U);
}

TEST_F(SharedStoreTest, ASlotIsReleasedWhereItWasTaken) {
  const auto slot = [&](Op op, bool in_outage, Instant since) {
    Charge charge{&slots_, "\1k", 1, op};
    charge.shared = &local_slots_;
    charge.in_outage = in_outage;
    charge.since = since;
    return charge;
  };
  const Answer there = take({slot(Op::spend, false, {})});
  EXPECT_TRUE(there.admitted);
  remote_.away = true;
  const Answer here = take({slot(Op::spend, false, {})});
  EXPECT_TRUE(here.admitted && here.outage);
  EXPECT_TRUE(take({slot(Op::spend, false, {})}).admitted);
  EXPECT_FALSE(take({slot(Op::spend, false, {})}).admitted) << "two slots, counted apart";

  remote_.away = false;
  const int calls = remote_.calls;
  take({slot(Op::refund, true, *here.now)});
  EXPECT_EQ(remote_.calls, calls);
  EXPECT_EQ(left(slot(Op::spend, false, {})), 1U);
  take({slot(Op::refund, false, *there.now)});
  EXPECT_EQ(left(slot(Op::spend, false, {})), 2U);

  remote_.away = true;
  EXPECT_EQ(left(slot(Op::spend, false, {})), 1U);
}

TEST_F(SharedStoreTest, WhatTheRemoteStoreTookIsNotGivenBackHere) {
  const Answer there = take({of(&local_, "\1k", 5)});
  EXPECT_TRUE(there.admitted);
  remote_.away = true;
  EXPECT_TRUE(take({of(&local_, "\1k", 3)}).admitted);
  Charge refund = of(&local_, "\1k", 3);
  refund.op = Op::refund;
  refund.since = *there.now;
  EXPECT_TRUE(take({refund}).admitted);
  EXPECT_EQ(left(of(&local_, "\1k")), 0U);
}

TEST_F(SharedStoreTest, DuringAnOutageWhatIsGivenBackByNameIsGivenBackHere) {
  const auto slot = [&](Op op) {
    Charge charge{&slots_, "\1s", 1, op};
    charge.shared = &local_slots_;
    return charge;
  };
  Charge units = of(&local_, "\1u", 5);
  EXPECT_TRUE(take({slot(Op::spend)}).admitted);
  EXPECT_TRUE(take({units}).admitted);
  remote_.away = true;
  EXPECT_TRUE(take({slot(Op::spend)}).admitted);
  EXPECT_TRUE(take({slot(Op::spend)}).admitted);
  EXPECT_FALSE(take({slot(Op::spend)}).admitted);
  EXPECT_TRUE(take({of(&local_, "\1u", 3)}).admitted);
  for (const std::uint64_t free : {1, 2, 2}) {
    take({slot(Op::refund)});
    EXPECT_EQ(left(slot(Op::spend)), free) << "no more than was taken here";
  }
  units.op = Op::refund;
  EXPECT_TRUE(take({units}).admitted);
  EXPECT_EQ(left(of(&local_, "\1u")), 3U);
  remote_.away = false;
  EXPECT_EQ(left(slot(Op::spend)), 1U) << "the remote state is as before";
  EXPECT_EQ(left(of(&local_, "\1u")), 5U);
}

TEST_F(SharedStoreTest, AnOutageIsReportedOnce) {
  take({of(&local_, "\1k")});
  EXPECT_TRUE(outages_.empty());
  remote_.away = true;
  take({of(&local_, "\1k")});
  take({of(&local_, "\1k")});
  EXPECT_EQ(outages_, std::vector<bool>{true});
  remote_.away = false;
  while (outages_.size() < 2) take({of(&local_, "\1k", 0)});  // a second
  EXPECT_EQ(outages_, (std::vector<bool>{true, false}));
}

// It is lost, which must not be silent.
TEST_F(SharedStoreTest, ACorrectionThatIsNotMadeIsAnOutage) {
  Charge release = of(&local_slots_, "\1k");
  release.op = Op::refund;
  release.since = store_.now();
  take({release});
  EXPECT_TRUE(outages_.empty());
  remote_.away = true;
  take({release});
  EXPECT_EQ(outages_, std::vector<bool>{true});
}

}  // namespace
}  // namespace headgate::store
