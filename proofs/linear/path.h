// One run of code whose numbers are not known: what it has computed and compared so far, and what
// Z3 concludes from that.
//
// Z3 is given linear arithmetic only, which it decides quickly: each product of unknowns is an
// unknown of its own. What else is true of a product is added as facts that hold for all whole
// numbers: a sum that is not negative remains so when it is multiplied by a factor that is not
// negative. So what is excluded by the facts cannot happen; what they do not exclude is looked at
// again with the products as they are.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proofs/linear/polynomial.h"

namespace headgate::proofs {

class Solver;

class Path {
 public:
  // The value of a computation, by its number.
  using Term = int;

  Term unknown(const std::string& name, const Whole& least, const Whole& most);
  Term term(const Polynomial& value);
  [[nodiscard]] const Polynomial& value(Term term) const { return terms_[term]; }

  Polynomial product(const Polynomial& a, const Polynomial& b);
  // Quotient and remainder, rounded towards zero as C++ does. The divisor must be positive.
  std::pair<Polynomial, Polynomial> divided(const Polynomial& a, const Polynomial& b);
  // Some divisor of both. From here on they are multiples of it.
  Term common_divisor(Term a, Term b, const Whole& most);

  // Whether a condition holds on this path. Forks the run if it can be either.
  bool decide(const Condition& condition);
  // Whether Z3 sees at once that these conditions hold. Does not fork the run.
  bool known(const std::vector<Condition>& conditions);
  // A fact that holds on this path.
  void fact(const Condition& fact);
  // Claims that `claim` is true whenever a run gets here.
  void must(const Condition& claim, const std::string& what);
  // The same of the result of an operation: that it is not less than `least` and at most `most`.
  void must_fit(const Polynomial& value, const Whole& least, const Whole& most);
  // While this is true, what operations need (must) is assumed instead: for relations that were
  // proved of all values elsewhere.
  bool trusting = false;
  // Counts a claim that is true on this path.
  void holds(const std::string& what) const;

 private:
  friend void explore(const std::string&, const std::function<void()>&);

  // The outcome of a comparison, and whether the other outcome is still to be visited.
  struct Choice {
    bool outcome;
    bool forks;
  };
  struct Quotient {
    Polynomial dividend;
    Polynomial divisor;
    Polynomial quotient;
  };

  void add(const std::string& command);
  void assert_that(const Condition& condition) { add("(assert " + condition.text() + ")\n"); }
  // Every product has to be declared before Z3 sees it.
  void declare(const Polynomial& sum);
  [[nodiscard]] bool declared(const Polynomial& sum) const;
  void compare(const Product& a, const Product& b, Unknown factor);
  void multiply_by(const Polynomial& factor);
  void multiply_what_is_declared();
  [[nodiscard]] std::vector<Condition> multiples(const Condition& condition) const;
  void must(const std::vector<Condition>& claims, const std::string& what);
  void judge(const Condition& claim, const std::string& what);
  void equate(const Polynomial& zero, Unknown end);
  void replace(Unknown unknown, const Polynomial& value);

  bool any_possible(const std::vector<Condition>& conditions);
  [[nodiscard]] std::string refute(const Condition& condition) const;
  [[nodiscard]] std::string definitions() const;
  [[nodiscard]] std::string counterexample() const;
  [[nodiscard]] std::vector<Unknown> factors_to_fix() const;

  std::vector<std::string> unknowns_;  // their names
  std::vector<Polynomial> terms_;
  std::set<Product> products_;       // of two and more unknowns, that were declared
  std::vector<Condition> facts_;     // to be multiplied
  std::vector<Polynomial> factors_;  // not negative, and as small as is known
  std::set<Polynomial> tried_factors_;
  std::vector<Condition> undeclared_;  // multiples of facts that have products of their own
  std::vector<Quotient> quotients_;
  std::map<Condition, bool> decided_;
  std::vector<Choice> script_;  // this run's comparisons, in their order
  std::size_t position_ = 0;
  std::size_t replayed_ = 0;  // so many of them are those of a former run, up to the last one
  std::string text_;          // declarations and facts, in their order
  std::string prefix_;        // of the names of claims
  Solver* solver_ = nullptr;
};

extern Path path;

// Runs `body` on every path that values can take. Z3 decides which those are, and whether each
// claim is true there.
void explore(const std::string& name, const std::function<void()>& body);
// Prints what was claimed. Returns whether all of it was proved.
bool report();

// Claims that `holds` is true: claim(a <= b, "what it says"). Ends the run if it is not.
void claim(bool holds, const std::string& what);
// Ends the run if the condition is not true: nothing is claimed about such values.
void given(bool condition);

// Thrown to end a run. Only proofs are compiled with this.
struct Ended {};

}  // namespace headgate::proofs
