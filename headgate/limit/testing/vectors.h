// The reference vectors in tests/vectors, for every test that replays them: those of the laws, of
// the stores and of the simulator.
//
// Linked into tests only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headgate/limit/law.h"

namespace headgate::limit::vectors {

// The expected decision of a step. What a file does not contain is absent, and not compared.
struct Expected {
  std::optional<bool> allowed;
  std::uint64_t r_min = 0;  // r_min..r_max: the exponential law has a tolerance
  std::uint64_t r_max = 0;
  std::optional<std::uint64_t> t_min;  // no t: no_reset
  std::optional<std::uint64_t> t_max;
  std::optional<std::uint64_t> t_next;  // [s] until more than r
  std::optional<std::uint64_t> t_full;  // [s] until the whole quota
  bool never = false;
  std::optional<Nanos> wait;
  std::optional<double> stored_rate;  // of the exponential law, after the step
};

struct Step {
  Instant at;
  std::string key;
  std::uint64_t cost = 0;
  Op op = Op::spend;
  Expected want;
};

struct Sequence {
  std::string id;
  Quota quota;
  Terms terms;
  std::vector<Step> steps;
  // The most units that are admitted in any span as long as the window; not in every file.
  std::optional<std::uint64_t> widest;
};

// The sequences of a file; `name` without ".json". Throws if the file cannot be read.
std::vector<Sequence> load(const std::string& name);

// What is wrong with a decision on a step; empty if nothing is. `terms` are the sequence's, perhaps
// with another `reset`.
std::string fault(const Sequence& sequence, const Terms& terms, const Step& step,
                  const Decision& got);

// Several policies on one request, taken all or none.
struct Member {
  std::string name;
  Quota quota;
  Terms terms;
};
struct SetStep {
  struct Part {
    std::uint64_t cost = 0;
    std::uint64_t r = 0;
    std::uint64_t t = 0;  // Decision::no_reset if there is none
    bool violated = false;
  };
  Instant at;
  bool allowed = false;
  std::vector<Part> parts;  // in the members' order
};
struct SetSequence {
  std::string id;
  std::vector<Member> members;
  std::vector<SetStep> steps;
};

// policy_set.json.
std::vector<SetSequence> load_sets();

}  // namespace headgate::limit::vectors
