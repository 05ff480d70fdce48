// The C++ side of differential_test.py: decides the requests on standard input.
//
//   law ALGORITHM QUOTA WINDOW DENIED PENALTY ALIGNED OFFSET    a new key under a new law
//   spend|peek|refund AT COST                                   -> ADMITTED R T WAIT
//
// All numbers are integers, times are in nanoseconds, DENIED is free, spend or penalty; "none" and
// "never" mean no T and no WAIT. Writes "refused" for a law that make_law() does not support.

#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

const std::map<std::string, Algorithm> algorithms{
    {"linear", Algorithm::linear},
    {"exponential", Algorithm::exponential},
    {"fixed-window", Algorithm::fixed_window},
    {"moving-window", Algorithm::moving_window},
    {"sliding-window-counter", Algorithm::sliding_window_counter},
    {"concurrency", Algorithm::concurrency},
};
const std::map<std::string, Denied> denials{
    {"free", Denied::free}, {"spend", Denied::spend}, {"penalty", Denied::penalty}};
const std::map<std::string, Op> ops{
    {"spend", Op::spend}, {"peek", Op::peek}, {"refund", Op::refund}};

Nanos number(std::istream& in) {
  std::string digits;
  in >> digits;
  const bool negative = digits.starts_with('-');
  Nanos n = 0;
  for (const char c : digits.substr(negative ? 1 : 0)) n = n * 10 + (c - '0');
  return negative ? -n : n;
}

std::string words(Nanos n) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(n % 10)));
    n /= 10;
  } while (n > 0);
  return digits;
}

int run() {
  std::optional<Law> law;
  KeyState key;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "law") {
      Quota quota;
      Terms terms;
      in >> word;
      terms.algorithm = algorithms.at(word);
      quota.units = static_cast<std::uint64_t>(number(in));
      quota.window = number(in);
      in >> word;
      terms.denied = denials.at(word);
      terms.penalty = number(in);
      terms.aligned = number(in) != 0;
      terms.offset = number(in);
      // The models have no lease: this one never ends.
      if (terms.algorithm == Algorithm::concurrency) terms.lease = Concurrency::lease_max;
      law = make_law(quota, terms);
      key = KeyState();
      std::cout << (law ? "ready" : "refused") << '\n';
      continue;
    }
    const Instant at{number(in)};
    const auto cost = static_cast<std::uint64_t>(number(in));
    const Decision d = key.take(law.value(), ops.at(word), cost, at);
    std::cout << d.admitted << ' ' << d.remaining << ' '
              << (d.reset == Decision::no_reset ? "none" : std::to_string(d.reset)) << ' '
              << (d.wait == Decision::never ? "never" : words(d.wait)) << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace headgate::limit

int main() { return headgate::limit::run(); }
