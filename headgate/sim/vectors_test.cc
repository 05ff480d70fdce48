// The reference vectors as a policy file and a trace, through the table that simulate uses.
#include "headgate/limit/testing/vectors.h"

#include <gtest/gtest.h>

#include <string>

#include "headgate/policy/file/load.h"
#include "headgate/sim/simulator.h"
#include "headgate/store/table.h"

namespace headgate::sim {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::Denied;

std::string digits(Nanos value) {
  std::string out;
  do {
    out.insert(out.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value > 0);
  return out;
}

std::string policy_yaml(const std::string& name, const limit::Quota& quota,
                        const limit::Terms& terms) {
  constexpr const char* names[] = {
      "linear",     "exponential", "fixed-window", "moving-window", "sliding-window-counter",
      "concurrency"};
  std::string out = "  - {name: " + name +
                    ", algorithm: " + names[static_cast<std::size_t>(terms.algorithm)] +
                    (quota.count != 0 ? ", burst: " : ", quota: ") + std::to_string(quota.units);
  if (quota.count != 0) {
    out += ", count: " + std::to_string(quota.count) + ", period: " + digits(quota.period) + "ns";
  } else if (terms.algorithm != Algorithm::concurrency) {
    out += ", window: " + digits(quota.window) + "ns";
  }
  if (terms.aligned) out += ", aligned: true, offset: " + digits(terms.offset) + "ns";
  if (terms.denied == Denied::spend) out += ", denied: spend";
  if (terms.denied == Denied::penalty) {
    out += ", denied: {penalty: " + digits(terms.penalty) + "ns}";
  }
  return out + "}\n";
}

Decision decision(const Answer& answer) {
  return {.admitted = answer.admitted,
          .remaining = answer.remaining.value_or(~std::uint64_t{0}),
          .reset = answer.reset.value_or(Decision::no_reset),
          .wait = answer.wait.value_or(Decision::never)};
}

// A simulator over these policies.
struct World {
  explicit World(const std::string& policies) {
    auto loaded = policy::load_text("version: 1\npolicies:\n" + policies, "vectors.yaml");
    if (!loaded) throw std::runtime_error(loaded.error().front().text());
    store::TableOptions options;
    options.memory = std::size_t{16} << 20;
    options.sharing = store::Sharing::threads;
    options.wide_share = 16;
    options.ledger_share = 32;
    options.clock = &store::ClockSource::still();
    table = std::move(store::Table::open(options).value());
    simulator.emplace(*loaded, *table);
  }

  Answers apply(const std::string& line) {
    const auto parsed = parse_trace_line(line);
    if (!parsed) throw std::runtime_error(parsed.error());
    auto answers = simulator->apply(*parsed);
    if (!answers) throw std::runtime_error(answers.error());
    return *answers;
  }

  std::unique_ptr<store::Table> table;
  std::optional<Simulator> simulator;
};

class TraceVectors : public testing::TestWithParam<const char*> {};

TEST_P(TraceVectors, AreAnswered) {
  const auto sequences = limit::vectors::load(GetParam());
  ASSERT_FALSE(sequences.empty());
  for (const limit::vectors::Sequence& sequence : sequences) {
    World world(policy_yaml("p", sequence.quota, sequence.terms));
    int number = 0;
    for (const limit::vectors::Step& step : sequence.steps) {
      std::string line = "{\"t\": " + std::string(step.at.ns < 0 ? "-" : "") +
                         digits(step.at.ns < 0 ? -step.at.ns : step.at.ns) +
                         ", \"policy\": \"p\", \"key\": \"" + step.key +
                         "\", \"cost\": " + std::to_string(step.cost);
      if (step.op == limit::Op::peek) line += ", \"op\": \"peek\"";
      if (step.op == limit::Op::refund) line += ", \"op\": \"release\"";
      const Decision got = decision(world.apply(line + "}").verdict);
      ASSERT_EQ(limit::vectors::fault(sequence, sequence.terms, step, got), "")
          << sequence.id << " step " << number << ": " << line;
      ++number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TraceVectors,
                         testing::Values("concurrency", "exponential_lenient", "exponential_strict",
                                         "fixed_window", "fixed_window_aligned",
                                         "fixed_window_count_denied", "linear_lenient",
                                         "linear_penalty", "linear_strict", "moving_window_log",
                                         "sliding_window_counter", "sliding_window_counter_clock",
                                         "linear_bucket", "widest_spans"),
                         [](const auto& file) { return std::string(file.param); });

TEST(TraceVectors, SeveralPoliciesAreAllOrNone) {
  const auto sequences = limit::vectors::load_sets();
  ASSERT_FALSE(sequences.empty());
  for (const limit::vectors::SetSequence& sequence : sequences) {
    std::string policies;
    std::string names;
    for (const limit::vectors::Member& member : sequence.members) {
      policies += policy_yaml(member.name, member.quota, member.terms);
      names += (names.empty() ? "\"" : ", \"") + member.name + '"';
    }
    World world(policies);
    for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
      const limit::vectors::SetStep& step = sequence.steps[i];
      std::string costs;
      for (const auto& part : step.parts) {
        costs += (costs.empty() ? "" : ", ") + std::to_string(part.cost);
      }
      const Answers got = world.apply("{\"t\": " + digits(step.at.ns) + ", \"policy\": [" + names +
                                      "], \"cost\": [" + costs + "]}");
      SCOPED_TRACE(sequence.id + " step " + std::to_string(i));
      ASSERT_EQ(got.verdict.admitted, step.allowed);
      for (std::size_t p = 0; p < step.parts.size(); ++p) {
        const Decision part = decision(got.results[p]);
        ASSERT_EQ(part.admitted, !step.parts[p].violated);
        ASSERT_EQ(part.remaining, step.parts[p].r);
        ASSERT_EQ(part.reset, step.parts[p].t);
      }
    }
  }
}

}  // namespace
}  // namespace headgate::sim
