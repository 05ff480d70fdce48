// A table that is flooded with ten times as many keys as it has room for: what each kind of client
// gets. Decisions of old clients are compared with those of a table that nobody floods.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headgate/store/table.h"

namespace headgate::store {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::Denied;
using limit::Law;
using limit::Op;

constexpr Nanos second = nanos_per_second;
constexpr Nanos window = 100 * second;

struct Policy {
  const char* name;
  std::uint64_t quota;
  limit::Terms terms;

  [[nodiscard]] Law law() const { return limit::make_law({quota, window}, terms).value(); }
};

// The interval is a whole number of nanoseconds, or not.
const Policy policies[] = {
    {"narrow", 100, {}},
    {"wide", 99, {}},
    {"penalty", 50, {.denied = Denied::penalty, .penalty = window}},
    {"spend", 20, {.denied = Denied::spend}},
    {"exponential", 60, {.algorithm = Algorithm::exponential}},
    {"fixed_window", 70, {.algorithm = Algorithm::fixed_window}},
    {"aligned_window", 70, {.algorithm = Algorithm::fixed_window, .aligned = true}},
    {"counts_denied", 30, {.denied = Denied::spend, .algorithm = Algorithm::fixed_window}},
    {"moving_window", 30, {.algorithm = Algorithm::moving_window}},
    {"sliding_window_counter", 80, {.algorithm = Algorithm::sliding_window_counter}},
    {"concurrency", 10, {.algorithm = Algorithm::concurrency, .lease = window}},
};

// With the share of blocks that a policy file with logs gets, or so few that pages run out of them.
constexpr unsigned enough_blocks = 56;
constexpr unsigned few_blocks = 16;

std::unique_ptr<Table> open(std::size_t memory, unsigned log_share) {
  return Table::open({.memory = memory,
                      .sharing = Sharing::threads,
                      .wide_share = 16,
                      .ledger_share = 32,
                      .log_share = log_share,
                      .clock = &ClockSource::still()})
      .value();
}

struct Answer {
  bool admitted = false;
  std::vector<Decision> decisions;
  friend bool operator==(const Answer&, const Answer&) = default;
};

// Charges one key under all laws at once.
Answer take(Table& table, const std::vector<Law>& laws, const std::string& key, std::uint64_t cost,
            Instant now, Op op = Op::spend, Instant since = {}) {
  std::vector<std::string> keys;
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < laws.size(); ++i) keys.push_back(std::to_string(i) + "/" + key);
  for (std::size_t i = 0; i < laws.size(); ++i) {
    charges.push_back({&laws[i], keys[i], cost, op, false, since});
  }
  Answer answer;
  answer.decisions.resize(charges.size());
  Bundle bundle{charges, answer.decisions};
  table.take({&bundle, 1}, now, {});
  answer.admitted = bundle.admitted;
  return answer;
}

// A client that was there before the flood, beside its twin in a table without a flood.
struct OldClient {
  std::string key;
  Nanos every;
  Instant next;
};

class Flood : public testing::Test {
 protected:
  Flood(std::size_t memory, const std::vector<const Policy*>& mix,
        unsigned log_share = enough_blocks)
      : flooded_(open(memory, log_share)), quiet_(open(std::size_t{8} << 20, log_share)) {
    for (const Policy* policy : mix) {
      laws_.push_back(policy->law());
      quota_ = std::min(quota_, policy->quota);
    }
  }

  // The same request in both tables, which must both admit or deny it, and answer the same if they
  // admit. (Of an offender that one of two policies always denies, the other one's state is unused
  // for so long that it is forgotten.)
  bool same(const std::string& key) {
    const Answer got = take(*flooded_, laws_, key, 1, now_);
    const Answer expected = take(*quiet_, laws_, key, 1, now_);
    EXPECT_EQ(got.admitted, expected.admitted) << key;
    EXPECT_TRUE(!expected.admitted || got == expected) << key;
    return expected.admitted;
  }

  void run() {
    const Instant begin = now_;
    // Offenders have used up their quota; honest clients are within it, the slowest with 100/100 s
    // once in nearly a window.
    for (int i = 0; i < 5; ++i) {
      while (same(offender(i)) && !HasFailure()) {
      }
    }
    std::vector<OldClient> honest;
    for (int i = 0; i < 10; ++i) {
      const Nanos every = std::max(2 * window / static_cast<Nanos>(quota_), window * (i + 1) / 11);
      honest.push_back({"honest" + std::to_string(i), every, begin});
    }
    std::uint64_t denied_honest = 0;
    const auto let_old_clients_send = [&] {
      for (OldClient& client : honest) {
        if (client.next > now_) continue;
        client.next.ns += client.every;
        if (!same(client.key)) ++denied_honest;
      }
      for (int i = 0; i < 5; ++i) same(offender(i));
    };
    let_old_clients_send();

    const std::uint64_t keys = 10 * flooded_->stats().cells();
    std::uint64_t units_of_newcomer = 0;
    for (std::uint64_t i = 0; i < keys && !HasFailure(); ++i) {
      // Two windows in all. Some keys take everything that they can have.
      now_.ns = begin.ns + 2 * window * static_cast<Nanos>(i) / static_cast<Nanos>(keys);
      take(*flooded_, laws_, "flood" + std::to_string(i), i % 3 == 0 ? quota_ : 1, now_);
      if (i % (keys / 400) != 0) continue;
      let_old_clients_send();
      // A newcomer of the last window, when the table is full.
      if (now_.ns < begin.ns + window) continue;
      while (units_of_newcomer <= 3 * quota_ &&
             take(*flooded_, laws_, "newcomer", 1, now_).admitted) {
        ++units_of_newcomer;
      }
    }
    EXPECT_EQ(denied_honest, 0u);
    EXPECT_LE(units_of_newcomer, 2 * quota_ + 1) << "of " << quota_ << " in one window";
    EXPECT_GT(flooded_->stats().unkept, 0u);
    EXPECT_EQ(quiet_->stats().unkept, 0u);
  }

  static std::string offender(int i) { return "offender" + std::to_string(i); }

  std::unique_ptr<Table> flooded_;
  std::unique_ptr<Table> quiet_;
  std::vector<Law> laws_;
  std::uint64_t quota_ = limit::Quota::units_max;
  Instant now_{1'000'000 * second};
};

class FloodOfOne : public Flood {
 public:
  explicit FloodOfOne(const Policy& policy) : Flood(std::size_t{1} << 20, {&policy}) {}
  void TestBody() override { run(); }
};

class FloodOfTwo : public Flood {
 public:
  FloodOfTwo(const Policy& one, const Policy& other)
      : Flood(std::size_t{128} << 10, {&one, &other}) {}
  void TestBody() override { run(); }
};

// At one moment, so that no key becomes free again: each key of the flood has a place or is
// counted.
class FloodIsCounted : public Flood {
 public:
  explicit FloodIsCounted(const Policy& policy)
      : Flood(std::size_t{128} << 10, {&policy}, few_blocks) {}
  void TestBody() override {
    const std::uint64_t keys = 2 * flooded_->stats().cells();
    for (std::uint64_t i = 0; i < keys; ++i) {
      take(*flooded_, laws_, "flood" + std::to_string(i), 1, now_);
    }
    const TableStats stats = flooded_->stats();
    EXPECT_EQ(stats.live() + stats.unkept, keys);
    EXPECT_GT(stats.unkept, keys / 2 - keys / 10);
    EXPECT_EQ(stats.merged, 0u);
  }
};

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* suite, const std::string& name, auto make) {
    testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [make]() -> Flood* { return make(); });
  };
  for (const Policy& one : policies) {
    add("Flood", one.name, [&one] { return new FloodOfOne(one); });
    add("FloodIsCounted", one.name, [&one] { return new FloodIsCounted(one); });
    for (const Policy& other : policies) {
      if (&one >= &other) continue;
      add("FloodOfTwo", std::string(one.name) + "_and_" + other.name,
          [&one, &other] { return new FloodOfTwo(one, other); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace headgate::store
