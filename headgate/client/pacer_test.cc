#include "headgate/client/pacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/testing/allocations.h"

namespace headgate::client {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr std::int64_t unix_now = 1'700'000'000;

using Fields = std::vector<field::HeaderLine>;

// A pacer without jitter, and a clock that stands still until it is moved.
class PacerTest : public testing::Test {
 protected:
  PacerTest() {
    options.jitter_permille = 0;
    options.rate_max = 1'000'000'000;
  }

  Pacer& pacer() {
    if (!pacer_) pacer_.emplace(options, now);
    return *pacer_;
  }
  void pass(Nanos span) { now.ns += span; }
  Next next() { return pacer().next(now); }
  bool may_go() { return next().why == Why::nothing; }
  // How long the next request has to wait [s].
  double wait() {
    const Next n = next();
    EXPECT_NE(n.why, Why::answer);
    return n.why == Why::nothing ? 0 : static_cast<double>(n.at.ns - now.ns) / 1e9;
  }
  Request begin() { return pacer().begin(now); }
  void answer(Request& request, int status, const Fields& fields) {
    const field::ResponseView view = field::read_response(fields, unix_now);
    pacer().receive(request, {status, view}, now);
    pacer().end(request);
  }
  // A request and its answer at this moment.
  void exchange(int status, const Fields& fields) {
    Request request = begin();
    answer(request, status, fields);
  }
  // Begins requests until one has to wait, and returns how many.
  unsigned burst(unsigned limit = 10'000) {
    unsigned count = 0;
    for (; count < limit && may_go(); ++count) under_way.push_back(begin());
    return count;
  }
  // Raises the number of requests that may be without an answer.
  void warm_up(const Fields& fields = {}) {
    for (int i = 0; i < 200; ++i) {
      pass(second);
      exchange(200, fields);
    }
  }

  Options options;
  Instant now{1000 * second};
  std::vector<Request> under_way;

 private:
  std::optional<Pacer> pacer_;
};

TEST_F(PacerTest, StartsWithOneRequestAndDoubles) {
  ASSERT_TRUE(may_go());
  Request first = begin();
  EXPECT_EQ(next().why, Why::answer);
  answer(first, 200, {});
  for (const unsigned expected : {2U, 4U, 8U}) {
    EXPECT_EQ(burst(), expected);
    for (Request& request : under_way) answer(request, 200, {});
    under_way.clear();
  }
}

TEST_F(PacerTest, SaysByHowMuchAWaitIsLongerThanItHasToBe) {
  options.jitter_permille = 50;
  const auto required = [&] { return next().at.ns - next().jitter - now.ns; };
  exchange(200, {{"RateLimit", R"("p";r=0;t=30)"}});
  EXPECT_GT(next().jitter, 0);
  EXPECT_EQ(required(), 30 * second);
  exchange(429, {{"Retry-After", "60"}});
  EXPECT_GT(next().jitter, 0);
  EXPECT_EQ(required(), 60 * second);
}

// As GitHub's, of its primary and of its secondary limit.
TEST_F(PacerTest, A403ThatSaysHowLongToWaitIsADenial) {
  const auto is_denial = [](int status, const Fields& fields) {
    return denies({status, field::read_response(fields, unix_now)});
  };
  const std::string end = std::to_string(unix_now + 30);
  const Fields spent{
      {"X-RateLimit-Limit", "60"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", end}};
  EXPECT_TRUE(is_denial(403, spent));
  EXPECT_TRUE(is_denial(403, {{"Retry-After", "60"}}));
  EXPECT_FALSE(is_denial(403, {}));
  EXPECT_FALSE(is_denial(403, {{"RateLimit", R"("p";r=1;t=30)"}}));
  EXPECT_FALSE(is_denial(404, spent));
  Fields cached = spent;
  cached.push_back({"Age", "5"});
  EXPECT_FALSE(is_denial(403, cached)) << "what it says is old";
  exchange(403, spent);
  EXPECT_DOUBLE_EQ(wait(), 30);
  pass(30 * second);
  exchange(403, spent);
  pass(30 * second);
  exchange(403, spent);
  EXPECT_GE(wait(), 30) << "denied again after its wait";
}

TEST_F(PacerTest, SpreadsWhatIsLeftOverItsTime) {
  exchange(200, {{"RateLimit", R"("p";r=10;t=5)"}});
  EXPECT_EQ(next().why, Why::pace);
  EXPECT_DOUBLE_EQ(wait(), 0.5);
  pass(second / 2);
  EXPECT_TRUE(may_go());
}

TEST_F(PacerTest, CorrectsRoundedSecondsIfThePolicyIsKnown) {
  exchange(200, {{"RateLimit", R"("p";r=9;t=1)"}, {"RateLimit-Policy", R"("p";q=10;w=1)"}});
  EXPECT_DOUBLE_EQ(wait(), 0.1);
}

TEST_F(PacerTest, NeverSpendsFasterThanTheUnitsLeftWhateverThePolicy) {
  exchange(200, {{"RateLimit", R"("p";r=10;t=60)"}, {"RateLimit-Policy", R"("p";q=1000;w=1)"}});
  EXPECT_GE(wait(), 5.9);  // t may be 59 s and a little
  warm_up({{"RateLimit", R"("p";r=10;t=60)"}, {"RateLimit-Policy", R"("p";q=1000;w=1)"}});
  unsigned sent = 0;
  for (const Instant end{now.ns + 60 * second}; now < end; pass(second / 100)) {
    if (!may_go()) continue;
    under_way.push_back(begin());
    ++sent;
  }
  EXPECT_LE(sent, 10U);
}

TEST_F(PacerTest, AWaitBeginsWhenTheAnswerCame) {
  Request request = begin();
  pass(5 * second);  // while it is under way
  answer(request, 200, {{"RateLimit", R"("p";r=0;t=7)"}});
  EXPECT_DOUBLE_EQ(wait(), 7);
  pass(7 * second);
  request = begin();
  pass(3 * second);
  answer(request, 429, {{"Retry-After", "4"}});
  EXPECT_DOUBLE_EQ(wait(), 4);
}

TEST_F(PacerTest, PacesByThePolicyAlone) {
  exchange(200, {{"RateLimit-Policy", R"("p";q=10;w=1)"}});
  EXPECT_DOUBLE_EQ(wait(), 0.1);
}

TEST_F(PacerTest, KeepsTheRateIfTimersAreLate) {
  unsigned sent = 0;
  for (const Instant end{now.ns + 10 * second}; now < end; pass(7'000'000)) {
    if (!may_go()) continue;  // requests are due every 10 ms, and the clock moves by 7 ms
    exchange(200, {{"RateLimit", R"("p";r=100;t=1)"}});
    ++sent;
  }
  EXPECT_NEAR(sent, 1000, 10);
}

TEST_F(PacerTest, GreedySpendsThenWaits) {
  options.mode = Mode::greedy;
  warm_up({{"RateLimit", R"("p";r=12;t=5)"}});
  EXPECT_EQ(burst(), 12U);
  EXPECT_EQ(next().why, Why::spent);
  EXPECT_DOUBLE_EQ(wait(), 5);
}

TEST_F(PacerTest, SubtractsWhatIsUnderWay) {
  options.mode = Mode::greedy;
  warm_up();
  ASSERT_EQ(burst(10), 10U);
  // Whether the other nine are counted in r is unknown.
  answer(under_way[0], 200, {{"RateLimit", R"("p";r=3;t=60)"}});
  EXPECT_FALSE(may_go());
  answer(under_way[9], 200, {{"RateLimit", R"("p";r=11;t=60)"}});
  EXPECT_EQ(burst(), 2U);
}

TEST_F(PacerTest, AnOlderAnswerThatComesLaterDoesNotCount) {
  options.mode = Mode::greedy;
  warm_up();
  Request older = begin();
  Request newer = begin();
  answer(newer, 200, {{"RateLimit", R"("p";r=0;t=60)"}});
  answer(older, 200, {{"RateLimit", R"("p";r=50;t=60)"}});
  EXPECT_EQ(next().why, Why::spent);
}

TEST_F(PacerTest, WithNothingLeftOneRequestIsSentAtTheReset) {
  options.mode = Mode::greedy;
  warm_up();
  exchange(200, {{"RateLimit", R"("p";r=0;t=7)"}});
  EXPECT_DOUBLE_EQ(wait(), 7);
  pass(7 * second - 1);
  EXPECT_FALSE(may_go());
  pass(1);
  EXPECT_EQ(burst(), 1U);
  EXPECT_EQ(next().why, Why::answer);
}

TEST_F(PacerTest, SendsAnotherIfThatRequestWasLost) {
  exchange(200, {{"RateLimit", R"("p";r=0;t=7)"}});
  pass(7 * second);
  const Request request = begin();
  EXPECT_EQ(next().why, Why::answer);
  pacer().end(request);
  EXPECT_TRUE(may_go());
}

TEST_F(PacerTest, RetryAfterComesFirst) {
  exchange(429, {{"RateLimit", R"("p";r=0;t=7)"}, {"Retry-After", "20"}});
  EXPECT_EQ(next().why, Why::retry_after);
  EXPECT_DOUBLE_EQ(wait(), 20);
  pass(20 * second);
  exchange(429, {{"RateLimit", R"("p";r=0;t=30)"}, {"Retry-After", "3"}});
  EXPECT_DOUBLE_EQ(wait(), 3);
}

TEST_F(PacerTest, ReadsEveryDialect) {
  const std::vector<Fields> dialects = {
      {{"RateLimit", R"("p";r=0;t=30)"}, {"RateLimit-Policy", R"("p";q=10;w=60)"}},
      {{"Beta-RateLimit", R"("p";r=0;t=30)"}},
      {{"RateLimit", "limit=10, remaining=0, reset=30"}, {"RateLimit-Policy", "10;w=60"}},
      {{"RateLimit-Limit", "10, 10;w=60"}, {"RateLimit-Remaining", "0"}, {"RateLimit-Reset", "30"}},
      {{"X-RateLimit-Limit", "10"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "30"}},
      {{"X-RateLimit-Remaining", "0.5"}, {"X-RateLimit-Reset", "29.4"}},
      {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1700000030"}},
      {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1700000030000"}},
      {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "2023-11-14T22:13:50Z"}},
      {{"X-Rate-Limit-Remaining", "0"}, {"X-Rate-Limit-Reset", "1700000030"}},
      {{"X-RateLimit-Remaining-Requests", "0"}, {"X-RateLimit-Reset-Requests", "30s"}},
      {{"Retry-After", "30"}},
      {{"Retry-After", "Tue, 14 Nov 2023 22:13:50 GMT"}},
  };
  for (const Fields& fields : dialects) {
    Pacer one(options, now);
    Request request = one.begin(now);
    const field::ResponseView view = field::read_response(fields, unix_now);
    one.receive(request, {200, view}, now);
    one.end(request);
    EXPECT_EQ(one.next(now).at.ns - now.ns, 30 * second) << fields[0].name;
  }
}

TEST_F(PacerTest, IgnoresWhatIsCachedOrMalformed) {
  exchange(200, {{"Age", "5"}, {"RateLimit", R"("p";r=0;t=60)"}});
  EXPECT_TRUE(may_go());
  for (const std::string_view bad :
       {R"("p";r=0;t=-1)", R"("p";r=-1;t=60)", R"(5;r=0;t=60)", R"("p";t=60)", R"("p";r=0;t=60,)",
        R"("p";r=1e9;t=60)", R"("p";r=0;t=9999999999999999)", R"("p";r;t=60)"}) {
    pass(second);
    exchange(200, {{"RateLimit", bad}});
    EXPECT_TRUE(may_go()) << bad;
  }
}

TEST_F(PacerTest, DistrustsAbsurdValues) {
  for (const std::string_view absurd :
       {R"("p";r=0;t=999999999999999)", R"("p";r=1;t=999999999999999)"}) {
    pass(2000 * second);
    exchange(200, {{"RateLimit", absurd}});
    EXPECT_NEAR(wait(), 600, 0.1) << absurd;
  }
  pass(600 * second);
  exchange(429, {{"Retry-After", "999999999999999"}});
  EXPECT_DOUBLE_EQ(wait(), 600);
}

TEST_F(PacerTest, NeverExceedsItsMaximumRate) {
  options.rate_max = 100;
  unsigned sent = 0;
  for (const Instant end{now.ns + 10 * second}; now < end; pass(second / 1000)) {
    if (!may_go()) continue;
    exchange(200, {{"RateLimit", R"("p";r=999999999999999;t=1)"}});
    ++sent;
  }
  EXPECT_NEAR(sent, 1000, 10);
}

TEST_F(PacerTest, SpreadsADaysQuotaOverTheMaximumWait) {
  exchange(200, {{"RateLimit", R"("daily";r=6000;t=86000)"},
                 {"RateLimit-Policy", R"("daily";q=6001;w=86400)"}});
  EXPECT_DOUBLE_EQ(wait(), 0.1);
}

TEST_F(PacerTest, ObeysEveryLimitOfAnAnswer) {
  exchange(200, {{"RateLimit", R"("a";r=5;t=60, "b";r=0;t=3, "c";r=0;t=20, "c";r=0;t=40)"}});
  EXPECT_DOUBLE_EQ(wait(), 40);
}

TEST_F(PacerTest, PartitionsDoNotBlockEachOther) {
  exchange(200, {{"RateLimit", R"("p";r=0;t=60;pk=:YQ==:)"}});
  EXPECT_DOUBLE_EQ(wait(), 60);
  exchange(200, {{"RateLimit", R"("p";r=10;t=5;pk=:Yg==:)"}});
  EXPECT_DOUBLE_EQ(wait(), 0.5);
  // Both in one answer are both ours.
  exchange(200, {{"RateLimit", R"("p";r=0;t=60;pk=:YQ==:, "p";r=10;t=5;pk=:Yg==:)"}});
  EXPECT_DOUBLE_EQ(wait(), 60);
}

TEST_F(PacerTest, ForgetsLimitsThatTheServerNoLongerSends) {
  warm_up();
  exchange(200, {{"RateLimit", R"("p";r=2;t=10)"}});
  pass(5 * second);
  exchange(200, {});
  EXPECT_DOUBLE_EQ(wait(), 5);  // one of two is spent: the pace of before
  pass(5 * second);
  exchange(200, {{"RateLimit", R"("other";r=100;t=1)"}});
  EXPECT_DOUBLE_EQ(wait(), 0.01);
  pass(second);
  exchange(200, {});
  EXPECT_TRUE(may_go());
  EXPECT_FALSE(pacer().standing(now));
}

TEST_F(PacerTest, ForgetsWhatLaterAnswersOmit) {
  exchange(200, {{"RateLimit", R"("p";r=0;t=10, "p";r=0;t=20)"}});
  pass(20 * second);
  exchange(200, {{"RateLimit", R"("p";r=100;t=1)"}});
  EXPECT_LE(wait(), 0.01);
  exchange(200, {{"X-RateLimit-Limit", "5"}, {"X-RateLimit-Remaining", "0"}});
  pass(20 * second);
  exchange(200, {{"X-RateLimit-Limit", "5"}});
  EXPECT_TRUE(may_go());
}

TEST_F(PacerTest, OtherUnitsAreNotRequests) {
  exchange(200, {{"RateLimit", R"("bytes";r=3;t=60)"},
                 {"RateLimit-Policy", R"("bytes";q=1000;w=60;qu="content-bytes")"}});
  EXPECT_TRUE(may_go());
  pass(second);
  exchange(200, {{"RateLimit", R"("bytes";r=0;t=60)"},
                 {"RateLimit-Policy", R"("bytes";q=1000;w=60;qu="content-bytes")"}});
  EXPECT_DOUBLE_EQ(wait(), 60);
}

TEST_F(PacerTest, KeepsNoMoreRequestsUnderWayThanFit) {
  const Fields fields = {{"RateLimit", R"("slots";r=3)"},
                         {"RateLimit-Policy", R"("slots";q=4;qu="concurrent-requests")"}};
  warm_up(fields);
  EXPECT_EQ(burst(), 4U);
  EXPECT_EQ(next().why, Why::answer);
  // Decided while all four held a slot.
  answer(under_way[0], 200,
         {{"RateLimit", R"("slots";r=0)"},
          {"RateLimit-Policy", R"("slots";q=4;qu="concurrent-requests")"}});
  EXPECT_EQ(burst(), 1U);
}

TEST_F(PacerTest, KeepsNoMoreRequestsUnderWayThanFitIntoEachOfSeveralPolicies) {
  const std::string_view policies =
      R"("few";q=2;qu="concurrent-requests", "many";q=10;qu="concurrent-requests")";
  for (const std::string_view limits : {R"("few";r=1, "many";r=9)", R"("many";r=9, "few";r=1)"}) {
    const Fields fields = {{"RateLimit", limits}, {"RateLimit-Policy", policies}};
    warm_up(fields);
    ASSERT_EQ(burst(), 2U) << limits;
    for (Request& request : under_way) answer(request, 200, fields);
    under_way.clear();
  }
}

// As those of a policy that matches only some of the client's requests.
TEST_F(PacerTest, KeepsSlotsForTenSecondsAfterTheLastAnswerThatNamesThem) {
  const std::string_view policies =
      R"("few";q=2;qu="concurrent-requests", "many";q=10;qu="concurrent-requests")";
  const Fields all = {{"RateLimit", R"("many";r=9)"}, {"RateLimit-Policy", policies}};
  warm_up();
  exchange(200, {{"RateLimit", R"("few";r=1, "many";r=9)"}, {"RateLimit-Policy", policies}});
  pass(10 * second);
  exchange(200, all);
  EXPECT_EQ(burst(), 2U);
  pass(second);
  for (Request& request : under_way) answer(request, 200, all);
  under_way.clear();
  EXPECT_EQ(burst(), 10U);
}

TEST_F(PacerTest, SlotsOfOtherPartitionsAreForgotten) {
  const std::string_view policy = R"("slots";q=4;qu="concurrent-requests")";
  warm_up();
  exchange(200, {{"RateLimit", R"("slots";r=0;pk=:YQ==:)"}, {"RateLimit-Policy", policy}});
  exchange(200, {{"RateLimit", R"("slots";r=3;pk=:Yg==:)"}, {"RateLimit-Policy", policy}});
  EXPECT_EQ(burst(), 4U);
}

TEST_F(PacerTest, LearnsNoRateFromADenialForWantOfSlots) {
  const auto fields_with = [](std::string_view limit) {
    return Fields{{"RateLimit", limit},
                  {"RateLimit-Policy", R"("slots";q=2;qu="concurrent-requests")"}};
  };
  exchange(200, fields_with(R"("slots";r=1)"));
  exchange(429, fields_with(R"("slots";r=0)"));
  pass(next().at.ns - now.ns);
  exchange(200, fields_with(R"("slots";r=1)"));
  EXPECT_EQ(burst(), 2U);
}

TEST_F(PacerTest, BacksOffIfADenialSendsNoTime) {
  for (const double expected : {1.0, 2.0, 4.0, 8.0}) {
    exchange(429, {});
    EXPECT_EQ(next().why, Why::backoff);
    EXPECT_DOUBLE_EQ(wait(), expected);
    pass(next().at.ns - now.ns);
  }
  for (int i = 0; i < 100; ++i) {
    exchange(503, {});
    EXPECT_LE(wait(), 600);
    pass(next().at.ns - now.ns);
  }
  exchange(200, {});
  exchange(429, {});
  EXPECT_DOUBLE_EQ(wait(), 1);
}

TEST_F(PacerTest, DenialsOfRequestsUnderWayCountAsOne) {
  warm_up();
  ASSERT_EQ(burst(8), 8U);
  for (Request& request : under_way) answer(request, 429, {});
  EXPECT_DOUBLE_EQ(wait(), 1);
}

TEST_F(PacerTest, BacksOffFromADenialWithUnitsLeft) {
  exchange(429, {{"RateLimit", R"("p";r=5;t=10)"}});
  EXPECT_GE(wait(), 1);
}

TEST_F(PacerTest, BacksOffFromAServerThatDeniesAfterItsOwnWaits) {
  double longest = 0;
  for (int i = 0; i < 12; ++i) {
    exchange(429, {{"Retry-After", "0"}});
    longest = std::max(longest, wait());
    pass(next().why == Why::nothing ? 0 : next().at.ns - now.ns);
  }
  EXPECT_GT(longest, 300);
}

TEST_F(PacerTest, ARedirectDelaysNoLongerThanItsFieldsSay) {
  exchange(301, {{"Location", "/x"}, {"RateLimit", R"("p";r=0;t=10)"}});
  EXPECT_DOUBLE_EQ(wait(), 10);
}

TEST_F(PacerTest, DoesNotPaceIfTheUnitsLeftCoverTheBacklog) {
  warm_up({{"RateLimit", R"("p";r=12;t=5)"}});
  EXPECT_GT(wait(), 0);
  pacer().set_backlog(12);
  EXPECT_EQ(burst(), 12U);
  pacer().set_backlog(13);
  EXPECT_FALSE(may_go());
}

TEST_F(PacerTest, SlowsDownIfOthersSpend) {
  const auto field_with = [](int r) { return R"("p";r=)" + std::to_string(r) + ";t=60"; };
  for (const int r : {99, 90}) {  // eight more than ours are gone
    const std::string field = field_with(r);
    exchange(200, {{"RateLimit", field}});
    pass(second);
  }
  const std::string few = field_with(6);
  exchange(200, {{"RateLimit", few}});
  EXPECT_GT(wait(), 20);  // alone it would be 60 s / 6
}

// A server with a bucket of 10 units, refilled with 10 units per second, whose admissions have no
// fields.
class PacerLearnsTest : public PacerTest {
 protected:
  void expect_the_rate(const Fields& of_denials) {
    double level = 10;
    Instant filled = now;
    unsigned denied = 0;
    unsigned admitted = 0;
    const Instant end{now.ns + 300 * second};
    while (now < end) {
      const Next n = next();
      if (n.why != Why::nothing) {
        now = n.at;
        continue;
      }
      level = std::min(10.0, level + static_cast<double>(now.ns - filled.ns) / 1e8);
      filled = now;
      if (level >= 1) {
        --level;
        ++admitted;
        exchange(200, {});
      } else {
        ++denied;
        exchange(429, of_denials);
      }
      pass(1'000'000);
    }
    EXPECT_GT(admitted, 2700U);  // of 3000
    EXPECT_LT(denied, admitted / 50);
  }
};

TEST_F(PacerLearnsTest, FromDenialsWithoutFields) { expect_the_rate({{"Retry-After", "1"}}); }

// As headgate with `report-when: denied`.
TEST_F(PacerLearnsTest, FromDenialsThatAloneHaveFields) {
  expect_the_rate({{"Retry-After", "1"},
                   {"RateLimit", R"("p";r=0;t=1)"},
                   {"RateLimit-Policy", R"("p";q=10;w=1)"}});
}

TEST_F(PacerLearnsTest, FromFieldsOfDenialsWithoutRetryAfter) {
  expect_the_rate({{"RateLimit", R"("p";r=0;t=1)"}});
}

TEST_F(PacerLearnsTest, FromFieldsOfDenialsWithThePolicyButWithoutRetryAfter) {
  expect_the_rate({{"RateLimit", R"("p";r=0;t=1)"}, {"RateLimit-Policy", R"("p";q=10;w=1)"}});
}

TEST_F(PacerLearnsTest, FromTheFieldsOfADenialWhileOtherRequestsAreUnderWay) {
  warm_up();  // one request per second
  ASSERT_EQ(burst(10), 10U);
  answer(under_way.back(), 429, {{"RateLimit", R"("p";r=0;t=7)"}});
  under_way.pop_back();
  for (Request& request : under_way) answer(request, 200, {});
  pass(7 * second);
  exchange(200, {});
  EXPECT_EQ(next().why, Why::pace);
  EXPECT_NEAR(wait(), 1, 0.1);
}

TEST(PacerJitter, OnlyAdds) {
  Options options;
  Nanos least = 1'000 * second;
  Nanos most = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    options.seed = seed;
    Pacer pacer(options, {});
    Request request = pacer.begin({});
    const Fields fields = {{"Retry-After", "100"}};
    const field::ResponseView view = field::read_response(fields, unix_now);
    pacer.receive(request, {429, view}, {});
    pacer.end(request);
    const Nanos wait = pacer.next({}).at.ns;
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, 100 * second);
  EXPECT_LT(least, 100 * second + second / 10);
  EXPECT_GT(most, 104 * second);
  EXPECT_LE(most, 105 * second);
}

TEST_F(PacerTest, StandingIsTheLimitWithTheLeastLeft) {
  exchange(200, {{"RateLimit", R"("a";r=50;t=60, "b";r=7;t=3)"},
                 {"RateLimit-Policy", R"("a";q=100;w=60, "b";q=10;w=5)"}});
  const auto standing = pacer().standing(now);
  ASSERT_TRUE(standing);
  EXPECT_EQ(standing->policy, "b");
  EXPECT_EQ(standing->left, 7U);
  EXPECT_EQ(standing->quota, 10U);
  EXPECT_EQ(standing->until.ns - now.ns, 3 * second);
}

TEST_F(PacerTest, KeepsAtMostItsMaximumOfLimits) {
  std::string many = R"("0";r=5;t=60)";
  for (int i = 1; i < 1000; ++i) many += ", \"" + std::to_string(i) + "\";r=5;t=60";
  exchange(200, {{"RateLimit", many}});
  EXPECT_DOUBLE_EQ(wait(), 12);
}

TEST_F(PacerTest, KeepsTheLimitsOfTheLatestAnswers) {
  for (int i = 0; i < 100; ++i) {
    exchange(200, {{"RateLimit", '"' + std::to_string(i) + "\";r=1000;t=600"}});
    pass(second);
  }
  exchange(200, {{"RateLimit", R"("strict";r=0;t=60)"}});
  EXPECT_DOUBLE_EQ(wait(), 60);
}

TEST_F(PacerTest, OfManyLimitsThatOneAnswerNamesItKeepsThoseWithTheLeastLeft) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += '"' + std::to_string(i) + "\";r=1000;t=600, ";
  many += R"("strict";r=0;t=60)";
  exchange(200, {{"RateLimit", many}});
  EXPECT_DOUBLE_EQ(wait(), 60);
}

TEST_F(PacerTest, DecidesWithoutAllocating) {
  exchange(200, {{"RateLimit", R"("a";r=50;t=60, "b";r=7;t=3)"}});
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) {
    pass(second);
    static_cast<void>(next());
    const Request request = begin();
    pacer().end(request);
  }
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace headgate::client
