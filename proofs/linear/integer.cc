#include "proofs/linear/integer.h"

#include <z3.h>

#include <cstdio>
#include <set>

namespace headgate::proofs {
namespace {

// Z3 reads what the text of a path says.
class Solver {
 public:
  Solver() : context_(Z3_mk_context(nullptr)) {}
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver() { Z3_del_context(context_); }

  std::string answer(const std::string& commands) {
    std::string text = Z3_eval_smtlib2_string(context_, commands.c_str());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  Z3_context context_;
};

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
// counts its steps, so the outcome does not depend on how busy the machine is.
constexpr const char* branch_effort = "(set-option :rlimit 50000)\n";
constexpr const char* claim_effort = "(set-option :rlimit 2000000)\n";
constexpr const char* patient_effort = "(set-option :rlimit 20000000)\n";

Solver* solver = nullptr;

}  // namespace

Path path;

std::string text_of(Value value) {
  if (value < 0) return "(- " + text_of(-value) + ")";
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

void Path::add(const std::string& command) {
  text_ += command;
  solver->answer(command);
}

Path::Term Path::unknown(const std::string& name) {
  const Term made = terms_++;
  add("(declare-const " + this->name(made) + " Int) ; " + name + "\n");
  return made;
}

Path::Term Path::term(const std::string& text) {
  const auto [entry, added] = known_terms_.try_emplace(text, 0);
  if (!added) return entry->second;
  const Term made = entry->second = terms_++;
  if (text.starts_with("(wrapped ")) {
    add("(declare-const " + name(made) + " Int) ; " + text + "\n");
  } else {
    add("(define-fun " + name(made) + " () Int " + text + ")\n");
  }
  return made;
}

Path::Term Path::product(const std::string& a, const std::string& b) {
  const int before = terms_;
  const Term made = term("(* " + a + " " + b + ")");
  if (made != before) return made;
  const auto grows = [&](const std::string& x, const std::string& y, const std::string& factor) {
    const std::string xf = "(* " + x + " " + factor + ")";
    const std::string yf = "(* " + y + " " + factor + ")";
    fact("(=> (and (<= 0 " + factor + ") (<= " + x + " " + y + ")) (<= " + xf + " " + yf + "))");
    fact("(=> (and (<= 0 " + factor + ") (< " + x + " " + y + ")) (<= (+ " + xf + " " + factor +
         ") " + yf + "))");
  };
  const auto compare = [&](const std::string& x, const std::string& y, const std::string& factor) {
    if (x == y) return;
    grows(x, y, factor);
    grows(y, x, factor);
  };
  for (const auto& [c, d] : products_) {
    if (b == d) compare(a, c, b);
    if (b == c) compare(a, d, b);
    if (a == d) compare(b, c, a);
    if (a == c) compare(b, d, a);
  }
  products_.emplace_back(a, b);
  return made;
}

std::pair<Path::Term, Path::Term> Path::divided(const std::string& a, const std::string& b) {
  const auto [entry, added] = known_quotients_.try_emplace(a + " " + b);
  if (!added) return entry->second;
  must("(< 0 " + b + ")", "the divisor is positive");
  const Term quotient = unknown(a + " / " + b);
  const Term rest = unknown(a + " % " + b);
  const std::string q = name(quotient);
  const std::string r = name(rest);
  fact("(= " + a + " (+ " + name(product(q, b)) + " " + r + "))");
  fact("(=> (<= 0 " + a + ") (and (<= 0 " + r + ") (< " + r + " " + b + ") (<= 0 " + q +
       ") (<= " + q + " " + a + ")))");
  fact("(=> (< " + a + " 0) (and (<= " + r + " 0) (< (- " + b + ") " + r + ") (<= " + q +
       " 0) (<= " + a + " " + q + ")))");
  return entry->second = {quotient, rest};
}

bool Path::less(const std::string& a, const std::string& b) {
  if (a == b) return false;
  return decide("(< " + a + " " + b + ")");
}

bool Path::equal(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return decide("(= " + (a < b ? a + " " + b : b + " " + a) + ")");
}

bool Path::decide(const std::string& condition) {
  const auto [entry, added] = decided_.try_emplace(condition, true);
  if (!added) return entry->second;
  if (position_ == script_.size()) {
    const bool can_be = possible(condition);
    script_.push_back({can_be, can_be && possible("(not " + condition + ")")});
  }
  const bool outcome = script_[position_++].outcome;
  entry->second = outcome;
  fact(outcome ? condition : "(not " + condition + ")");
  return outcome;
}

void Path::fact(const std::string& fact) { add("(assert " + fact + ")\n"); }

bool Path::possible(const std::string& condition) const {
  return solver->answer(branch_effort + ("(push)(assert " + condition) + ")(check-sat)(pop)") !=
         "unsat";
}

void Path::must(const std::string& claim, const std::string& what) {
  static std::set<std::string> done;
  const std::string negation = "(assert (not " + claim + "))";
  if (!trusting && done.insert(text_ + negation).second) {
    Tally& tally = tally_of(prefix_ + ": " + what);
    std::string verdict = solver->answer(claim_effort + ("(push)" + negation) + "(check-sat)(pop)");
    if (verdict != "unsat") {
      // Without the stack of assertions Z3 has more ways to simplify.
      verdict = Solver().answer(patient_effort + text_ + negation + "(check-sat)");
    }
    ++(verdict == "unsat" ? tally.proved : tally.failed);
    if (verdict != "unsat" && tally.failed == 1) {
      std::printf("%s: %s\n", tally.name.c_str(), verdict == "sat" ? "not true" : verdict.c_str());
      if (verdict == "sat") {
        std::printf("%s\n", Solver()
                                .answer(patient_effort + text_ + negation +
                                        "(set-option :pp.bounded false)(check-sat)(get-model)")
                                .c_str());
      }
      std::printf("%s", (text_ + negation + "\n").c_str());
    }
  }
  fact(claim);  // so it is known from here on
}

// Z3 has excluded the other outcome of each comparison of the claim, or it has failed there.
void Path::holds(const std::string& what) const { ++tally_of(prefix_ + ": " + what).proved; }

void explore(const std::string& name, const std::function<void()>& body) {
  std::vector<Path::Choice> script;
  for (;;) {
    Solver one;
    solver = &one;
    path = Path();
    path.prefix_ = name;
    path.script_ = script;
    try {
      body();
    } catch (const Ended&) {
    }
    solver = nullptr;
    script = path.script_;
    while (!script.empty() && !script.back().other) script.pop_back();
    if (script.empty()) return;
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
    path.must("false", what);
    throw Ended();
  }
  path.holds(what);
}

void given(bool condition) {
  if (!condition) throw Ended();
}

Uint64 some_common_divisor(const Uint64& a, const Uint64& b) {
  const Uint64 divisor = Uint64::unknown("common divisor");
  path.fact("(<= 1 " + divisor.text() + ")");
  for (const Uint64& multiple : {a, b}) {
    const Path::Term rest = path.divided(multiple.text(), divisor.text()).second;
    path.fact("(= " + Path::name(rest) + " 0)");
  }
  return divisor;
}

}  // namespace headgate::proofs
