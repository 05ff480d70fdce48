// Clients and a server in virtual time: an obedient client is never denied, under any law, whatever
// the latency, the order of answers and the number of requests under way; and gets nearly all that
// the policy permits. Prints the shares.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "headgate/client/pacer.h"
#include "headgate/limit/testing/key_state.h"

namespace headgate::client {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::Denied;
using limit::Quota;
using limit::Terms;

constexpr Nanos second = nanos_per_second;
constexpr Nanos ms = second / 1000;
constexpr Instant start{1'700'000'000 * second + 123'456'789};

// The parameters of a run.
struct World {
  Quota quota;
  Terms terms;
  Mode mode = Mode::paced;
  unsigned clients = 1;
  unsigned parallel = 1;    // requests that each client has under way at most
  Nanos latency = 10 * ms;  // there and back, times 0.5 to 1.5
  Nanos span = 600 * second;
};

// The results of a run.
struct Outcome {
  unsigned requests = 0;
  unsigned denied = 0;
  double share = 0;  // admitted rate / permitted rate, without the first window
};

// The fields that headgate writes for this decision.
field::ResponseView fields_of(const Decision& d, const Quota& quota) {
  field::ResponseView view;
  view.source = field::Source::ratelimit;
  field::Member member;
  member.policy = "p";
  member.unit = "requests";
  member.q = quota.units;
  member.w = ceil_seconds(quota.window);
  member.r = d.remaining;
  if (d.reset != Decision::no_reset) member.t = d.reset;
  view.members.push_back(member);
  if (!d.admitted && d.wait != Decision::never) view.retry_after = d.retry_after();
  return view;
}

// Plays the requests of clients to one key of one law, event by event.
class Play {
 public:
  explicit Play(const World& world)
      : world_(world), law_(limit::make_law(world.quota, world.terms).value()) {
    for (unsigned i = 0; i < world.clients; ++i) {
      Options options;
      options.mode = world.mode;
      options.seed = i + 1;
      clients_.push_back({Pacer(options, start)});
      events_.push({start, Kind::wake, i, {}});
    }
  }

  Outcome run() {
    const Instant end{start.ns + world_.span};
    for (; !events_.empty() && events_.top().at < end;) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.kind == Kind::arrives) {
        decide(event);
      } else {
        if (event.kind == Kind::answered) receive(event);
        send(event.client);
      }
    }
    const double promised = static_cast<double>(world_.quota.units) *
                            static_cast<double>(world_.span - world_.quota.window) /
                            static_cast<double>(world_.quota.window);
    outcome_.share = admitted_ / promised;
    return outcome_;
  }

 private:
  enum class Kind : std::uint8_t { wake, arrives, answered };
  struct Event {
    Instant at;
    Kind kind;
    unsigned client;
    std::size_t request;  // index
    friend bool operator<(const Event& a, const Event& b) { return b.at < a.at; }
  };
  struct Client {
    Pacer pacer;
    unsigned under_way = 0;
    Instant woken{};
  };

  Nanos half_way() {
    return world_.latency / 4 +
           static_cast<Nanos>(random_() % static_cast<std::uint64_t>(world_.latency / 2 + 1));
  }

  void send(unsigned index) {
    Client& client = clients_[index];
    while (client.under_way < world_.parallel) {
      const Next next = client.pacer.next(now_);
      if (next.why == Why::answer) {
        ASSERT_GT(client.under_way, 0U) << "waits for an answer to nothing";
        return;
      }
      if (next.why != Why::nothing) {
        ASSERT_GT(next.at, now_);
        if (client.woken != next.at) events_.push({next.at, Kind::wake, index, {}});
        client.woken = next.at;
        return;
      }
      requests_.push_back({client.pacer.begin(now_), {}});
      ++client.under_way;
      events_.push({{now_.ns + half_way()}, Kind::arrives, index, requests_.size() - 1});
    }
  }

  void decide(const Event& event) {
    const Decision decision = key_.spend(law_, 1, now_);
    ++outcome_.requests;
    if (!decision.admitted) ++outcome_.denied;
    if (decision.admitted && now_.ns >= start.ns + world_.quota.window) ++admitted_;
    requests_[event.request].decision = decision;
    events_.push({{now_.ns + half_way()}, Kind::answered, event.client, event.request});
  }

  void receive(const Event& event) {
    Client& client = clients_[event.client];
    auto& [request, decision] = requests_[event.request];
    const field::ResponseView view = fields_of(decision, world_.quota);
    client.pacer.receive(request, {decision.admitted ? 200 : 429, view}, now_);
    client.pacer.end(request);
    --client.under_way;
  }

  struct Sent {
    Request request;
    Decision decision;
  };

  World world_;
  limit::Law law_;
  limit::KeyState key_;
  std::mt19937_64 random_{42};
  std::vector<Client> clients_;
  std::vector<Sent> requests_;
  std::priority_queue<Event> events_;
  Instant now_ = start;
  Outcome outcome_;
  double admitted_ = 0;
};

struct Kind {
  const char* name;
  Terms terms;
  double alone;  // the least share that is required
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::string in_words(const World& world) {
  return "q=" + std::to_string(world.quota.units) +
         " w=" + std::to_string(static_cast<int>(world.quota.window / second)) +
         " clients=" + std::to_string(world.clients) +
         " parallel=" + std::to_string(world.parallel) +
         " latency=" + std::to_string(static_cast<int>(world.latency / ms)) + " ms " +
         (world.mode == Mode::paced ? "paced" : "greedy");
}

class Obeying : public testing::TestWithParam<Kind> {};

TEST_P(Obeying, AloneIsNeverDeniedAndGetsNearlyAll) {
  for (const Mode mode : {Mode::paced, Mode::greedy}) {
    double least = 2;
    std::string where;
    for (const Quota quota : {Quota{10, 10 * second}, Quota{100, 10 * second},
                              Quota{100, 60 * second}, Quota{1000, 60 * second}}) {
      for (const unsigned parallel : {1U, 16U}) {
        for (const Nanos latency : {ms, 20 * ms, 100 * ms}) {
          const World world{quota, GetParam().terms, mode, 1, parallel, latency};
          SCOPED_TRACE(in_words(world));
          const Outcome outcome = Play(world).run();
          EXPECT_EQ(outcome.denied, 0U) << "of " << outcome.requests;
          // With one request at a time, no client is faster than its answers.
          const double fastest = static_cast<double>(quota.window) /
                                 static_cast<double>(quota.units) / static_cast<double>(latency);
          const double share =
              parallel > 1 ? outcome.share : outcome.share / std::min(1.0, fastest);
          if (mode == Mode::paced) {
            EXPECT_GE(share, latency < 100 * ms ? GetParam().alone : 0.90);
          }
          if (share < least) {
            least = share;
            where = in_words(world);
          }
        }
      }
    }
    std::printf("%-32s %5.1f %% of q/w at least: %s\n", GetParam().name, 100 * least,
                where.c_str());
  }
}

TEST_P(Obeying, TwoThatShareAreRarelyDenied) {
  double most = 0;
  double least = 2;
  std::string where;
  for (const Quota quota : {Quota{50, 10 * second}, Quota{100, 10 * second},
                            Quota{100, 60 * second}, Quota{1000, 60 * second}}) {
    for (const unsigned parallel : {1U, 16U}) {
      for (const Nanos latency : {ms, 20 * ms, 100 * ms}) {
        const World world{quota, GetParam().terms, Mode::paced, 2, parallel, latency};
        SCOPED_TRACE(in_words(world));
        const Outcome outcome = Play(world).run();
        const double denied = static_cast<double>(outcome.denied) / outcome.requests;
        EXPECT_LE(denied, 0.01) << outcome.denied << " of " << outcome.requests;
        if (denied > most) {
          most = denied;
          where = in_words(world);
        }
        least = std::min(least, outcome.share);
      }
    }
  }
  std::printf("%-32s two: %4.2f %% denied at most (%s), %5.1f %% of q/w at least\n",
              GetParam().name, 100 * most, where.c_str(), 100 * least);
}

TEST_P(Obeying, AnyQuotaAndWindowAlone) {
  for (const std::uint64_t units : {1, 2, 3, 7, 61}) {
    for (const Nanos window : {second / 3, second, 7 * second, 90 * second}) {
      for (const unsigned parallel : {1U, 5U}) {
        for (const Mode mode : {Mode::paced, Mode::greedy}) {
          const World world{{units, window}, GetParam().terms, mode, 1, parallel, 50 * ms};
          const Outcome outcome = Play(world).run();
          ASSERT_EQ(outcome.denied, 0U) << in_words(world) << ", of " << outcome.requests;
          ASSERT_GT(outcome.requests, 1U) << in_words(world);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Obeying,
    testing::Values(
        Kind{"linear", {}, 0.95}, Kind{"linear_spend", {.denied = Denied::spend}, 0.95},
        Kind{"linear_penalty", {.denied = Denied::penalty, .penalty = 30 * second}, 0.95},
        Kind{"exponential", {.algorithm = Algorithm::exponential}, 0.90},
        Kind{"exponential_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::exponential},
             0.90},
        Kind{"fixed_window", {.algorithm = Algorithm::fixed_window}, 0.90},
        Kind{"fixed_window_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::fixed_window},
             0.90},
        Kind{"fixed_window_aligned", {.algorithm = Algorithm::fixed_window, .aligned = true}, 0.90},
        Kind{"sliding_window_counter", {.algorithm = Algorithm::sliding_window_counter}, 0.90},
        Kind{"sliding_window_counter_aligned",
             {.algorithm = Algorithm::sliding_window_counter, .aligned = true},
             0.90},
        Kind{"moving_window", {.algorithm = Algorithm::moving_window}, 0.94}),
    [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace headgate::client
