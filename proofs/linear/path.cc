#include "proofs/linear/path.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "proofs/linear/solver.h"

namespace headgate::proofs {

namespace {

// How often each claim was proved or not, in the order of the claims.
struct Tally {
  std::string name;
  int proved = 0;
  int failed = 0;
};
std::vector<Tally> tallies;

Tally& tally_of(const std::string& name) {
  for (Tally& tally : tallies) {
    if (tally.name == name) return tally;
  }
  return tallies.emplace_back(Tally{name});
}

// A branch that Z3 cannot exclude with this effort is taken, and a claim there costs more. Z3
// counts its steps, so the outcome does not depend on how busy the machine is. Only a check is
// bounded: a push that is given up would be an error.
constexpr const char* check_branch =
    "(set-option :rlimit 1000000)(check-sat)(set-option :rlimit 0)";
constexpr const char* check_claim =
    "(set-option :rlimit 20000000)(check-sat)(set-option :rlimit 0)";

// Thrown when a claim is not proved.
struct Refuted {};

Polynomial of(Unknown unknown) { return Polynomial::of({unknown}); }

}  // namespace

Path path;

void Path::add(const std::string& command) { text_ += command; }

Path::Term Path::unknown(const std::string& name, const Whole& least, const Whole& most) {
  const auto made = static_cast<Unknown>(unknowns_.size());
  unknowns_.push_back(name);
  add("(declare-const " + name_of({made}) + " Number) ; " + name + "\n");
  if (least == 0) {
    fact(at_most(Polynomial(), of(made)));
  } else {
    assert_that(at_most(Polynomial(least), of(made)));
  }
  assert_that(at_most(of(made), Polynomial(most)));
  return term(of(made));
}

Path::Term Path::term(const Polynomial& value) {
  terms_.push_back(value);
  return static_cast<Term>(terms_.size()) - 1;
}

bool Path::declared(const Polynomial& sum) const {
  return std::all_of(sum.parts().begin(), sum.parts().end(), [&](const auto& part) {
    return part.first.size() < 2 || products_.contains(part.first);
  });
}

void Path::declare(const Polynomial& sum) {
  if (declared(sum)) return;
  for (const auto& [product, times] : sum.parts()) {
    if (product.size() < 2 || !products_.insert(product).second) continue;
    add("(declare-const " + name_of(product) + " Number)\n");
    for (const Unknown factor : std::set<Unknown>(product.begin(), product.end())) {
      compare(product, {factor}, factor);
      for (const Product& other : products_) {
        if (other != product && without(other, factor)) compare(product, other, factor);
      }
    }
  }
  multiply_what_is_declared();
}

// Of two products with a common factor that is not negative, the one with the larger other factor
// is larger, by at least the common factor.
void Path::compare(const Product& a, const Product& b, Unknown factor) {
  const Polynomial rest_of_a = Polynomial::of(*without(a, factor));
  const Polynomial rest_of_b = Polynomial::of(*without(b, factor));
  if (!declared(rest_of_a) || !declared(rest_of_b)) return;
  const auto unless = [&](const Condition& exception, const Condition& fact) {
    add("(assert (or " + less(of(factor), Polynomial()).text() + " " + exception.text() + " " +
        fact.text() + "))\n");
  };
  const auto grows = [&](const Polynomial& x, const Polynomial& y) {
    unless(less(y, x), at_most(x * of(factor), y * of(factor)));
    unless(at_most(y, x), at_most((x + Polynomial(1)) * of(factor), y * of(factor)));
  };
  grows(rest_of_a, rest_of_b);
  grows(rest_of_b, rest_of_a);
}

// Facts are multiplied by each factor, and before that by each factor - 1 if it is at least 1,
// which says more.
void Path::multiply_by(const Polynomial& factor) {
  if (factor.constant() || !tried_factors_.insert(factor).second) return;
  Polynomial added = factor - Polynomial(1);
  if (!known({at_most(Polynomial(), added)})) added = factor;
  if (!known({at_most(Polynomial(), added)})) return;
  factors_.push_back(added);
  for (const Condition& fact : facts_) undeclared_.push_back({fact.sum * added, fact.kind});
  multiply_what_is_declared();
}

void Path::multiply_what_is_declared() {
  const auto ready =
      std::stable_partition(undeclared_.begin(), undeclared_.end(),
                            [&](const Condition& condition) { return !declared(condition.sum); });
  for (auto at = ready; at != undeclared_.end(); ++at) assert_that(*at);
  undeclared_.erase(ready, undeclared_.end());
}

std::vector<Condition> Path::multiples(const Condition& condition) const {
  std::vector<Condition> made;
  if (condition.kind == Condition::Kind::not_zero) return made;
  for (const Polynomial& factor : factors_) {
    made.push_back({condition.sum * factor, condition.kind});
  }
  return made;
}

void Path::fact(const Condition& fact) {
  declare(fact.sum);
  assert_that(fact);
  if (fact.kind == Condition::Kind::not_zero) return;
  facts_.push_back(fact);
  for (const Condition& multiple : multiples(fact)) undeclared_.push_back(multiple);
  multiply_what_is_declared();
}

Polynomial Path::product(const Polynomial& a, const Polynomial& b) {
  const Polynomial made = a * b;
  declare(made);
  multiply_by(a);
  multiply_by(b);
  return made;
}

std::pair<Polynomial, Polynomial> Path::divided(const Polynomial& a, const Polynomial& b) {
  must(less(Polynomial(), b), "the divisor is positive");
  if (b.parts().size() == 1 && b.parts().begin()->second == 1) {
    if (const auto quotient = a.divided_by(b.parts().begin()->first)) return {*quotient, {}};
  }
  for (const Quotient& known : quotients_) {
    if (known.dividend == a && known.divisor == b) {
      return {known.quotient, a - known.quotient * b};
    }
  }
  const bool negative = decide(less(a, Polynomial()));
  const auto made = static_cast<Unknown>(unknowns_.size());
  unknowns_.push_back("(" + a.text() + ") / (" + b.text() + ")");
  add("(declare-const " + name_of({made}) + " Number)\n");
  const Polynomial quotient = of(made);
  quotients_.push_back({a, b, quotient});
  const Polynomial rest = a - product(quotient, b);
  const Polynomial zero;
  fact(negative ? at_most(quotient, zero) : at_most(zero, quotient));
  fact(negative ? at_most(rest, zero) : at_most(zero, rest));
  fact(negative ? less(zero - b, rest) : less(rest, b));
  return {quotient, rest};
}

Path::Term Path::common_divisor(Term a, Term b, const Whole& most) {
  const Term divisor = unknown("common divisor", 1, most);
  for (const Term multiple : {a, b}) {
    const Term times = unknown("multiple", 0, most);
    const auto last = static_cast<Unknown>(unknowns_.size()) - 1;
    equate(terms_[multiple] - product(terms_[times], terms_[divisor]), last);
  }
  return divisor;
}

// Replaces an unknown before `end` that this equation determines, so that what is equal looks
// equal.
void Path::equate(const Polynomial& zero, Unknown end) {
  fact(equal(zero, Polynomial()));
  for (Unknown unknown = 0; unknown < end; ++unknown) {
    if (!zero.can_be_solved_for(unknown)) continue;
    const Polynomial sign(zero.parts().at({unknown}));
    replace(unknown, of(unknown) - sign * zero);
    return;
  }
}

void Path::replace(Unknown unknown, const Polynomial& value) {
  const auto change = [&](Polynomial& sum) { sum = sum.with(unknown, value); };
  for (Polynomial& term : terms_) change(term);
  for (Polynomial& factor : factors_) change(factor);
  for (Quotient& quotient : quotients_) {
    change(quotient.dividend);
    change(quotient.divisor);
    change(quotient.quotient);
  }
  undeclared_.clear();
  for (Condition& fact : std::exchange(facts_, {})) {
    change(fact.sum);
    if (!fact.decided()) this->fact(fact);
  }
}

bool Path::decide(const Condition& condition) {
  if (const std::optional<bool> decided = condition.decided()) return *decided;
  const auto [entry, added] = decided_.try_emplace(condition, true);
  if (!added) return entry->second;
  declare(condition.sum);
  if (position_ == script_.size()) {
    const bool can_be = any_possible({condition});
    const bool forks = can_be && any_possible({condition.negated()});
    script_.push_back({can_be, forks});
    if (forks) solver_->push();
  }
  const bool outcome = script_[position_++].outcome;
  entry->second = outcome;
  if (outcome && condition.kind == Condition::Kind::zero) {
    equate(condition.sum, static_cast<Unknown>(unknowns_.size()));
  } else {
    fact(outcome ? condition : condition.negated());
  }
  return outcome;
}

bool Path::known(const std::vector<Condition>& conditions) {
  // Also where the outcome is known from a former run: Z3 continues after that run's text.
  for (const Condition& condition : conditions) declare(condition.sum);
  if (position_ == script_.size()) {
    std::vector<Condition> exceptions;
    for (const Condition& condition : conditions) exceptions.push_back(condition.negated());
    script_.push_back({!any_possible(exceptions), false});
  }
  return script_[position_++].outcome;
}

bool Path::any_possible(const std::vector<Condition>& conditions) {
  std::string any;
  for (const Condition& condition : conditions) {
    std::string all = condition.text();
    for (const Condition& multiple : multiples(condition)) {
      if (declared(multiple.sum)) all += " " + multiple.text();
    }
    any += " (and " + all + ")";
  }
  solver_->read(text_);
  return solver_->answer("(push)(assert (or" + any + "))" + check_branch + "(pop)") != "unsat";
}

// What Z3 says about this path with a condition: "unsat" if it is excluded, "sat" if it is not, and
// else why Z3 gave up.
std::string Path::refute(const Condition& condition) const {
  Path all = *this;
  all.fact(condition);
  for (const Condition& multiple : std::exchange(all.undeclared_, {})) {
    all.declare(multiple.sum);
    all.assert_that(multiple);
  }
  for (const auto numbers : {Solver::Numbers::rational, Solver::Numbers::whole}) {
    if (Solver(numbers).answer(all.text_ + check_claim) == "unsat") return "unsat";
  }
  Path exact = *this;
  exact.fact(condition);
  const std::string example = exact.counterexample();
  if (!example.empty()) {
    std::printf("%s", example.c_str());
    return "sat";
  }
  return Solver(Solver::Numbers::whole).answer(exact.text_ + exact.definitions() + check_claim);
}

std::string Path::definitions() const {
  std::string text;
  for (const Product& product : products_) {
    text += "(assert (= " + name_of(product) + " (*";
    for (const Unknown factor : product) text += " " + name_of({factor});
    text += ")))\n";
  }
  return text;
}

// Unknowns of which each product has all, or all but one.
std::vector<Unknown> Path::factors_to_fix() const {
  std::vector<Unknown> fixed;
  std::vector<Product> left(products_.begin(), products_.end());
  for (;;) {
    std::erase_if(left, [](const Product& product) { return product.size() < 2; });
    if (left.empty()) return fixed;
    std::map<Unknown, int> uses;
    for (const Product& product : left) {
      for (const Unknown factor : product) ++uses[factor];
    }
    const Unknown most =
        std::max_element(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    fixed.push_back(most);
    for (Product& product : left) std::erase(product, most);
  }
}

// Values of all unknowns on this path, if there are some with small factors: with these, each
// product is linear.
std::string Path::counterexample() const {
  const std::vector<Unknown> fixed = factors_to_fix();
  constexpr int values[] = {1, 2, 3, 10};
  constexpr int tries = 64;
  for (int number = 0; number < tries; ++number) {
    std::string text;
    int rest = number;
    for (const Unknown factor : fixed) {
      text += "(assert (= " + name_of({factor}) + " " + std::to_string(values[rest % 4]) + "))\n";
      rest /= 4;
    }
    if (rest != 0) break;
    Solver solver(Solver::Numbers::whole);
    if (solver.answer(text_ + text + definitions() + check_branch) != "sat") {
      continue;
    }
    std::string example;
    for (Unknown unknown = 0; unknown < static_cast<Unknown>(unknowns_.size()); ++unknown) {
      example += "  " + unknowns_[unknown] + ": " +
                 solver.answer("(get-value (" + name_of({unknown}) + "))") + "\n";
    }
    return example;
  }
  return "";
}

void Path::must(const Condition& claim, const std::string& what) {
  must(std::vector<Condition>{claim}, what);
}

void Path::must_fit(const Polynomial& value, const Whole& least, const Whole& most) {
  must({at_most(Polynomial(least), value), at_most(value, Polynomial(most))},
       "the result fits into its type");
}

void Path::must(const std::vector<Condition>& claims, const std::string& what) {
  std::vector<Condition> open;
  for (const Condition& claim : claims) {
    const auto seen = decided_.find(claim);
    if (claim.decided().value_or(seen != decided_.end() && seen->second)) continue;
    open.push_back(claim);
  }
  if (open.empty()) return;
  const bool is_new = position_ >= replayed_;
  if (!trusting && known(open)) {
    if (is_new) ++tally_of(prefix_ + ": " + what).proved;
    for (const Condition& claim : open) decided_.emplace(claim, true);
    return;
  }
  for (const Condition& claim : open) {
    if (!trusting && is_new) judge(claim, what);
    if (claim.decided()) throw Ended();
    fact(claim);  // so it is known from here on
    decided_.emplace(claim, true);
  }
}

// Counts whether a claim is proved, after the quick way has failed. If it is not, the other paths
// are not visited.
void Path::judge(const Condition& claim, const std::string& what) {
  Tally& tally = tally_of(prefix_ + ": " + what);
  const Condition negated = claim.negated();
  const std::string verdict = refute(negated);
  ++(verdict == "unsat" ? tally.proved : tally.failed);
  if (verdict == "unsat") return;
  std::printf("%s: %s\n%s(assert %s)\n", tally.name.c_str(),
              verdict == "sat" ? "not true" : verdict.c_str(), text_.c_str(),
              negated.text().c_str());
  throw Refuted();
}

// Z3 has excluded the other outcome of each comparison of the claim, or it has failed there.
void Path::holds(const std::string& what) const {
  if (position_ >= replayed_) ++tally_of(prefix_ + ": " + what).proved;
}

void explore(const std::string& name, const std::function<void()>& body) {
  Solver solver(Solver::Numbers::rational);
  std::vector<Path::Choice> script;
  for (;;) {
    path = Path();
    path.solver_ = &solver;
    path.prefix_ = name;
    path.script_ = script;
    path.replayed_ = script.size();
    try {
      body();
    } catch (const Ended&) {
    } catch (const Refuted&) {
      return;
    }
    path.solver_ = nullptr;
    script = path.script_;
    while (!script.empty() && !script.back().forks) script.pop_back();
    if (script.empty()) return;
    solver.pop();
    script.back() = {!script.back().outcome, false};
  }
}

bool report() {
  bool all = true;
  for (const Tally& tally : tallies) {
    std::printf(
        "%-70s %5d proved%s\n", tally.name.c_str(), tally.proved,
        tally.failed == 0 ? "" : (", " + std::to_string(tally.failed) + " NOT PROVED").c_str());
    all = all && tally.failed == 0;
  }
  return all && !tallies.empty();
}

void claim(bool holds, const std::string& what) {
  if (!holds) {
    path.must({Polynomial(-1), Condition::Kind::not_negative}, what);
    throw Ended();
  }
  path.holds(what);
}

void given(bool condition) {
  if (!condition) throw Ended();
}

}  // namespace headgate::proofs
