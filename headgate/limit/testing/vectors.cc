#include "headgate/limit/testing/vectors.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "headgate/base/testing/source_tree.h"

namespace headgate::limit::vectors {
namespace {

using nlohmann::json;

// Numbers above 2^63-1 are decimal strings in the vectors.
i128 integer(const json& value) {
  if (!value.is_string()) return value.get<std::int64_t>();
  i128 n = 0;
  for (const char c : value.get<std::string>()) n = n * 10 + (c - '0');
  return n;
}

i128 integer_or_0(const json& object, const char* name) {
  return object.contains(name) ? integer(object[name]) : 0;
}

std::optional<std::uint64_t> units(const json& object, const char* name) {
  if (!object.contains(name) || object[name].is_null()) return std::nullopt;
  return static_cast<std::uint64_t>(integer(object[name]));
}

json read(const std::string& name) {
  const std::filesystem::path path = source_tree() / "tests/vectors" / (name + ".json");
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path.string() + ": cannot be read");
  return json::parse(in);
}

Quota quota_of(const json& policy) {
  return {static_cast<std::uint64_t>(integer(policy["quota"])), integer_or_0(policy, "window_ns"),
          static_cast<std::uint64_t>(integer_or_0(policy, "count")),
          integer_or_0(policy, "period_ns")};
}

Terms terms_of(const std::string& algorithm, const json& policy) {
  Terms terms;
  if (algorithm == "exponential") terms.algorithm = Algorithm::exponential;
  if (algorithm == "fixed_window") terms.algorithm = Algorithm::fixed_window;
  if (algorithm == "fixed_window_aligned") {
    terms.algorithm = Algorithm::fixed_window;
    terms.aligned = true;
    terms.offset = integer_or_0(policy, "offset_ns");
  }
  if (algorithm == "moving_window_log") terms.algorithm = Algorithm::moving_window;
  if (algorithm == "sliding_window_counter") terms.algorithm = Algorithm::sliding_window_counter;
  if (algorithm == "sliding_window_counter_clock") {
    terms.algorithm = Algorithm::sliding_window_counter;
    terms.aligned = true;
  }
  if (algorithm == "concurrency") terms.algorithm = Algorithm::concurrency;
  const std::string mode = policy.value("mode", "lenient");
  if (mode == "strict" || policy.value("count_denied", false)) terms.denied = Denied::spend;
  if (mode == "penalty") {
    terms.denied = Denied::penalty;
    terms.penalty = integer(policy["penalty_ns"]);
  }
  return terms;
}

Op op_of(const json& step) {
  const std::string op = step.value("op", "spend");
  return op == "peek" ? Op::peek : op == "release" ? Op::refund : Op::spend;
}

Expected expected(const json& want) {
  Expected e;
  if (want.contains("allowed")) e.allowed = want["allowed"].get<bool>();
  const std::uint64_t r = units(want, "r").value();
  e.r_min = units(want, "r_min").value_or(r);
  e.r_max = units(want, "r_max").value_or(r);
  e.t_min = want.contains("t_min") ? units(want, "t_min") : units(want, "t");
  e.t_max = want.contains("t_max") ? units(want, "t_max") : units(want, "t");
  e.t_next = units(want, "t_next");
  e.t_full = units(want, "t_full");
  e.never = want.value("never", false);
  if (want.contains("wait_ns")) e.wait = integer(want["wait_ns"]);
  if (want.contains("stored_rate")) {
    e.stored_rate = std::stod(want["stored_rate"].get<std::string>());
  }
  return e;
}

std::string words(std::uint64_t seconds) {
  return seconds == Decision::no_reset ? "none" : std::to_string(seconds);
}

std::string range(std::uint64_t least, std::uint64_t most) {
  return least == most ? words(least) : words(least) + ".." + words(most);
}

}  // namespace

std::vector<Sequence> load(const std::string& name) {
  const json file = read(name);
  std::vector<Sequence> sequences;
  for (const json& s : file["sequences"]) {
    Sequence& sequence = sequences.emplace_back();
    sequence.id = s["id"];
    sequence.quota = quota_of(s["policy"]);
    sequence.terms = terms_of(s.value("algorithm", file["algorithm"]), s["policy"]);
    sequence.widest = units(s, "widest");
    for (const json& step : s["steps"]) {
      sequence.steps.push_back({Instant{integer_or_0(step, "at")}, step["key"],
                                static_cast<std::uint64_t>(integer_or_0(step, "cost")), op_of(step),
                                expected(step["expect"])});
    }
  }
  return sequences;
}

std::string fault(const Sequence& sequence, const Terms& terms, const Step& step,
                  const Decision& got) {
  const Expected& want = step.want;
  const bool timeless = terms.algorithm == Algorithm::concurrency;
  if (want.allowed && got.admitted != *want.allowed) {
    return std::string("is ") + (got.admitted ? "admitted" : "denied");
  }
  if (got.remaining < want.r_min || got.remaining > want.r_max) {
    return "r is " + std::to_string(got.remaining) + ", not " + range(want.r_min, want.r_max);
  }
  std::optional<std::uint64_t> least = want.t_min;
  std::optional<std::uint64_t> most = want.t_max;
  if (got.admitted && sequence.quota.units > 0 && !timeless) {
    if (terms.reset == Reset::next) {
      least = most = want.t_next.value_or(0);
      if (terms.algorithm == Algorithm::exponential) {
        // Not compared if r is a range. Also not for larger quotas: a double does not have the
        // digits to distinguish the moments of two units.
        if (want.r_min != want.r_max || sequence.quota.units > 1'000'000'000'000) return {};
        *most += *most / 1'000'000'000 + 1;
      }
    } else if (terms.reset == Reset::full) {
      if (!want.t_full) return {};
      least = most = want.t_full;
    }
  }
  const std::uint64_t t_min = least.value_or(Decision::no_reset);
  const std::uint64_t t_max = most.value_or(Decision::no_reset);
  if (got.reset < t_min || got.reset > t_max) {
    return "t is " + words(got.reset) + ", not " + range(t_min, t_max);
  }
  if (got.admitted) return got.wait == 0 ? "" : "is admitted with a wait";
  if ((got.wait == Decision::never) != (want.never || timeless)) return "is wrong about never";
  if (got.wait != Decision::never && got.retry_after() != got.reset) return "t is not Retry-After";
  if (want.wait && got.wait != *want.wait) return "has another wait";
  return {};
}

std::vector<SetSequence> load_sets() {
  std::vector<SetSequence> sequences;
  const json file = read("policy_set");
  for (const json& s : file["sequences"]) {
    SetSequence& sequence = sequences.emplace_back();
    sequence.id = s["id"];
    for (const json& policy : s["policies"]) {
      sequence.members.push_back(
          {policy["name"], quota_of(policy), terms_of(policy["algorithm"], policy)});
    }
    for (const json& step : s["steps"]) {
      const json& want = step["expect"];
      SetStep& set = sequence.steps.emplace_back();
      set.at = Instant{integer(step["at"])};
      set.allowed = want["allowed"];
      for (const Member& member : sequence.members) {
        const json& mine = want["policies"][member.name];
        const json& violated = want["violated"];
        set.parts.push_back(
            {units(step["costs"], member.name.c_str()).value(), units(mine, "r").value(),
             units(mine, "t").value_or(Decision::no_reset),
             std::find(violated.begin(), violated.end(), member.name) != violated.end()});
      }
    }
  }
  return sequences;
}

}  // namespace headgate::limit::vectors
