// Requests, settlements, reservations and changes of the numbers in random orders: whatever comes
// after what, nobody gets more than the numbers allow, what was said is kept, and nothing is lost.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/gate/testing/test_store.h"
#include "headgate/policy/live/override.h"

namespace headgate::gate {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos windows[] = {second, 5 * second, 60 * second, 3600 * second};
constexpr std::uint64_t quota_min = 4;
constexpr std::uint64_t quota_max = 40;
constexpr Nanos delay = 2 * second;
// So many requests are under way that do not see each other's cost if that is known late.
constexpr std::size_t unseen_max = 12;

// What a history is about.
struct Kind {
  std::string algorithm;
  std::string keys;        // further ones of the policy
  std::uint64_t cost = 1;  // of a request, unless it turns out to be free

  [[nodiscard]] bool has(const std::string& part) const {
    return keys.find(part) != std::string::npos;
  }
  [[nodiscard]] bool holds_slots() const { return algorithm == "concurrency"; }
  [[nodiscard]] bool is_late() const { return has("x-cost"); }
  [[nodiscard]] bool can_reserve() const { return is_late() || holds_slots(); }
  // Whether what is there may come back all at once.
  [[nodiscard]] bool has_boundaries() const {
    return algorithm == "fixed-window" || algorithm == "sliding-window-counter";
  }
};

struct Numbers {
  std::uint64_t quota;
  Nanos window;
};

// What a spelling of the path is counted under.
struct Counted {
  std::optional<Numbers> numbers;  // std::nullopt: unlimited
  std::string key;                 // of the state
  std::size_t law = 0;             // which one, of limit::Law
};

// One state of the policy's numbers: a file, or one with an override that is set while it runs.
struct Version {
  Counted x;      // "/x", which has an override in many files
  Counted other;  // "/X"
  std::string text;
  std::shared_ptr<const policy::PolicySet> policies;
  std::unique_ptr<Gate> gate;
};

policy::Request request_of(std::string_view path, const policy::Headers& headers) {
  policy::Request request;
  request.method = "GET";
  request.path = path;
  request.peer = policy::Address::parse("192.0.2.1");
  request.headers = &headers;
  return request;
}

Counted counted(const policy::PolicySet& policies, std::string_view path) {
  const FakeHeaders headers;
  policy::Scratch scratch;
  const auto matches = policies.match(request_of(path, headers), scratch);
  if (matches.empty()) return {};
  const policy::Grant& grant = *matches.front().grant;
  return {Numbers{grant.quota.units, grant.quota.window}, std::string(matches.front().key),
          grant.law.index()};
}

// What is kept of a request that was admitted, until it is settled.
struct Kept {
  Kept(const DecisionContext& context, const Gate& gate, int in_part, std::uint64_t charged)
      : by(&gate),
        part(in_part),
        cost(charged),
        taken(context.now),
        dues(context.verdict.dues.begin(), context.verdict.dues.end()) {
    for (Due& due : dues) {
      due.key = *keys.emplace_back(std::make_unique<const std::string>(due.key));
    }
  }

  const Gate* by;
  int part;  // of the history
  std::uint64_t cost;
  Instant taken;
  std::vector<std::unique_ptr<const std::string>> keys;
  std::vector<Due> dues;
  std::string id;  // of a reservation
};

class History {
 public:
  History(unsigned seed, Completes when, Kind kind) : random_(seed), kind_(std::move(kind)) {
    for (Version& version : versions_) version = made(limited());
    auto options = table_options(*versions_.front().policies);
    options.memory = 1 << 20;
    store_ = std::make_unique<TestStore>(when, options);
    for (Version& version : versions_) {
      version.gate = std::make_unique<Gate>(version.policies, store_->store(),
                                            store_->table().secret(), std::span<PolicyCounts>());
    }
    now_ = store_->table().now();
    context_.waits = Waits::elsewhere;
  }

  void play() {
    for (int part = 0; part < 6; ++part) {
      in_force_ = &versions_[below(versions_.size())];
      begin_part();
      // Most parts take much less than a window: whatever is given back by then is a fault.
      const Nanos window = in_force_->other.numbers.value_or(limited()).window;
      const Nanos step = std::max(window, second) / (one_in(3) ? 10 : 100'000);
      for (int i = 0; i < 300; ++i) {
        act(step);
        expect_no_more_than_allowed();
        if (testing::Test::HasFailure()) return explain();
      }
      if (one_in(2)) expect_all_comes_back();
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t of) { return below(of) == 0; }

  Numbers limited() {
    return {quota_min + below(quota_max - quota_min + 1), windows[below(std::size(windows))]};
  }
  std::optional<Numbers> numbers() { return one_in(10) ? std::nullopt : std::optional(limited()); }
  [[nodiscard]] std::string yaml(const std::optional<Numbers>& numbers) const {
    if (!numbers) return "quota: unlimited";
    const std::string quota = "quota: " + std::to_string(numbers->quota);
    if (kind_.holds_slots()) return quota;
    return quota +
           ", window: " + std::to_string(static_cast<std::uint64_t>(numbers->window / second)) +
           "s";
  }

  Version made(const Numbers& own) {
    Version version;
    version.text = "policies: [{name: p, key: [path], algorithm: " + kind_.algorithm + ", " +
                   yaml(own) + kind_.keys;
    if (!one_in(4)) version.text += ", overrides: [{ids: [/x], " + yaml(numbers()) + "}]";
    version.text += "}]\n";
    version.policies = loaded(version.text);
    if (one_in(3)) set_override(version);
    version.x = counted(*version.policies, "/x");
    version.other = counted(*version.policies, "/X");
    if (version.x.key == version.other.key) {
      EXPECT_EQ(version.x.law, version.other.law) << version.text;
    }
    return version;
  }

  void set_override(Version& version) {
    const auto given = numbers();
    policy::LiveOverride set{"p", "/x"};
    if (given) set.quota = given->quota;
    if (given && !kind_.holds_slots()) set.window = given->window;
    policy::Overridden result = version.policies->with(std::span(&set, 1));
    EXPECT_EQ(result.faults.front(), "");
    version.policies = std::move(result.policies);
    version.text += "# and live: " + yaml(given) + "\n";
  }

  void begin_part() {
    ++part_;
    part_began_ = now_;
    ended_ = 0;
    held_ = used();
    if (!kind_.holds_slots()) ended_ = -held_;
  }

  void act(Nanos step) {
    switch (below(10)) {
      case 0:
        now_.ns += static_cast<Nanos>(below(static_cast<std::size_t>(2 * step))) + 1;
        return;
      case 1:
      case 2:
      case 3:
        if (!under_way_.empty()) end(below(under_way_.size()), one_in(3));
        return;
      case 4:
        if (kind_.can_reserve()) reserve();
        return;
      case 5:
        return peek();
      default: {
        // Often as much as there is: what is given back by mistake is used at once.
        const std::string path = one_in(2) ? "/x" : "/X";
        std::size_t many = one_in(4) ? quota_max : 1;
        while (many-- > 0 && has_room() && send(path)) {
        }
      }
    }
  }

  [[nodiscard]] bool has_room() const {
    if (!kind_.is_late()) return true;
    const auto here = [&](const Kept& kept) { return kept.part == part_; };
    return std::ranges::count_if(under_way_, here) < static_cast<std::ptrdiff_t>(unseen_max);
  }

  bool admits(const std::string& path) {
    const FakeHeaders headers;
    TestStore::Answer answer;
    in_force_->gate->admit(request_of(path, headers), now_, DryRun::no, context_, answer.done());
    store_->complete(answer);
    if (context_.verdict.outcome == Outcome::denied) return false;
    if (context_.verdict.items.empty()) return true;  // unlimited
    keep(kind_.cost);
    return true;
  }

  Kept& keep(std::uint64_t cost) {
    return under_way_.emplace_back(context_, *in_force_->gate, part_, cost);
  }

  // Returns whether the request was admitted and limited.
  bool send(const std::string& path) {
    if (admits(path)) {
      if (context_.verdict.items.empty()) return false;
      if (context_.verdict.items.front().remaining >= kind_.cost && one_in(4)) {
        EXPECT_TRUE(admits(path)) << "r has said so";
      }
      return true;
    }
    if (context_.verdict.retry_after && one_in(10)) {
      now_.ns += static_cast<Nanos>(*context_.verdict.retry_after) * second;
      EXPECT_TRUE(admits(path)) << "Retry-After has said so";
    }
    return false;
  }

  void peek() {
    const Check check{"p", one_in(2) ? "/x" : "/X", kind_.cost};
    TestStore::Answer answer;
    EXPECT_EQ(in_force_->gate->decide({&check, 1}, limit::Op::peek, now_, context_, answer.done()),
              std::nullopt);
    store_->complete(answer);
  }

  void reserve() {
    const Check check{"p", one_in(2) ? "/x" : "/X", 2};
    TestStore::Answer answer;
    EXPECT_EQ(in_force_->gate->reserve({&check, 1}, now_, context_, answer.done()), std::nullopt);
    store_->complete(answer);
    if (context_.verdict.outcome == Outcome::denied || context_.verdict.dues.empty()) return;
    keep(*check.cost).id = std::to_string(++reservations_);
  }

  // A request that is under way ends, and has cost nothing or what it was charged.
  void end(std::size_t which, bool is_free) {
    const Kept kept = std::move(under_way_[which]);
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
    const std::uint64_t cost = is_free ? 0 : kept.cost;
    if (!kept.id.empty()) {
      const std::vector<std::optional<std::uint64_t>> costs(kept.dues.size(), cost);
      TestStore::Answer answer;
      EXPECT_TRUE(in_force_->gate->settle({kept.id, kept.taken, kept.dues}, costs, now_, context_,
                                          answer.done()));
      store_->complete(answer);
    } else {
      FakeHeaders headers;
      headers.lines["x-cost"] = std::to_string(cost);
      kept.by->settle(kept.dues, kept.taken, {is_free ? 500u : 200u, 0, &headers}, now_,
                      in_force_->gate.get());
      store_->complete_all();
    }
    const bool can_be_free = !kept.dues.empty();
    if (!kind_.holds_slots()) ended_ += static_cast<std::int64_t>(can_be_free ? cost : kept.cost);
  }

  // What this part has used. Of slots: what is in use.
  [[nodiscard]] std::int64_t used() const {
    std::int64_t units = ended_;
    for (const Kept& kept : under_way_) units += static_cast<std::int64_t>(kept.cost);
    return units;
  }

  // What one part can use by these numbers: the quota, what comes back, what a delay lends, and how
  // far late costs exceed it.
  [[nodiscard]] Nanos allowed(const Numbers& numbers) const {
    const auto quota = static_cast<Nanos>(numbers.quota);
    if (kind_.holds_slots()) return quota;
    const Nanos time = now_.ns - part_began_.ns + (kind_.has("delay") ? delay : 0);
    const Nanos begun = time / numbers.window + 1;  // windows
    Nanos units = quota + time * quota / numbers.window;
    if (kind_.has_boundaries()) units = quota * (begun + 1);
    if (kind_.algorithm == "moving-window") units = quota * begun;
    if (kind_.is_late()) units += static_cast<Nanos>(2 * unseen_max * kind_.cost) * begun;
    return units;
  }

  void expect_no_more_than_allowed() {
    const auto of = [&](const Counted& path) { return path.numbers ? allowed(*path.numbers) : 0; };
    const Nanos of_x = of(in_force_->x);
    const Nanos of_other = of(in_force_->other);
    // A spelling under another window has a bucket of its own.
    const bool is_one = in_force_->x.key == in_force_->other.key;
    Nanos most = is_one ? std::max(of_x, of_other) : of_x + of_other;
    if (kind_.holds_slots()) most = std::max(most, static_cast<Nanos>(held_));
    EXPECT_LE(used(), static_cast<std::int64_t>(most))
        << "after " << static_cast<double>(now_.ns - part_began_.ns) / 1e9 << " s";
  }

  // When all has ended, and windows later, the whole quota is there.
  void expect_all_comes_back() {
    while (!under_way_.empty()) end(0, one_in(2));
    if (!in_force_->x.numbers) return;
    now_.ns += 60 * std::max(in_force_->x.numbers->window,
                             5 * second);  // exponential: not before ln q windows
    begin_part();
    const std::uint64_t expected = in_force_->x.numbers->quota / kind_.cost;
    for (std::uint64_t i = 0; i < expected; ++i) {
      EXPECT_TRUE(admits("/x")) << "the " << i + 1 << "th of " << expected;
      EXPECT_EQ(context_.verdict.hold, 0);
      if (kind_.is_late() && !under_way_.empty()) end(0, false);
    }
    if (!kind_.has("delay")) {
      EXPECT_FALSE(admits("/x")) << "after the whole quota";
    }
    if (testing::Test::HasFailure()) explain();
  }

  void explain() const {
    for (const Version& version : versions_) {
      ADD_FAILURE() << (&version == in_force_ ? "in force: " : "another: ") << version.text;
    }
  }

  std::mt19937 random_;
  Kind kind_;
  std::array<Version, 3> versions_;
  const Version* in_force_ = nullptr;
  std::unique_ptr<TestStore> store_;
  DecisionContext context_;
  Instant now_;
  std::vector<Kept> under_way_;
  int reservations_ = 0;
  int part_ = 0;
  Instant part_began_;
  std::int64_t ended_ = 0;  // what was used by requests that have ended
  std::int64_t held_ = 0;   // what was in use when the part began
};

std::vector<Kind> kinds() {
  std::vector<Kind> all = {{"concurrency", ", lease: 7d"}};
  for (const std::string algorithm :
       {"linear", "exponential", "fixed-window", "moving-window", "sliding-window-counter"}) {
    all.push_back({algorithm, ""});
    all.push_back({algorithm, ", refund-on: 5xx"});
    all.push_back({algorithm, ", cost: {response-header: x-cost}"});
    all.push_back({algorithm, ", cost: {reserve: 3, settle: {response-header: x-cost}}", 3});
  }
  for (const std::string algorithm : {"fixed-window", "sliding-window-counter"}) {
    all.push_back({algorithm, ", aligned: true"});
    all.push_back({algorithm, ", aligned: true, cost: {response-header: x-cost}"});
  }
  all.push_back({"linear", ", denied: {penalty: 3s}"});
  for (const std::string algorithm : {"linear", "exponential", "fixed-window"}) {
    all.push_back({algorithm, ", denied: spend"});
  }
  for (const std::string algorithm : {"linear", "fixed-window"}) {
    all.push_back({algorithm, ", delay: 2s"});
    all.push_back({algorithm, ", delay: 2s, refund-on: 5xx"});
  }
  return all;
}

class AnyOrder : public testing::TestWithParam<Completes> {};
HEADGATE_WITH_EACH_STORE(AnyOrder);

// Other histories: --gtest_shuffle, with --gtest_repeat for many.
TEST_P(AnyOrder, NobodyGetsMoreAndNothingIsLost) {
  constexpr unsigned many = 3;
  const unsigned first =
      many * static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  for (const Kind& kind : kinds()) {
    for (unsigned seed = first; seed < first + many && !HasFailure(); ++seed) {
      SCOPED_TRACE(kind.algorithm + kind.keys + ", seed " + std::to_string(seed));
      History(seed, GetParam(), kind).play();
    }
  }
}

}  // namespace
}  // namespace headgate::gate
