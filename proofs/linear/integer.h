// Integers whose values are not known: a run on them visits one path through the code, and notes
// what the path computes and compares as terms of SMT-LIB.
//
// A comparison that is not decided by constants forks the run: explore() runs a function once for
// each combination of outcomes. Terms are whole numbers without bounds; that no operation of the
// code leaves its type is a claim of its own, which every operation adds (Path::must).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headgate::proofs {

__extension__ typedef __int128 Value;

std::string text_of(Value value);

// What one run has computed so far.
class Path {
 public:
  // The value of a term that depends on unknowns, by its number.
  using Term = int;

  Term unknown(const std::string& name);
  Term term(const std::string& text);
  // a * b, with what Z3 does not find by itself: of two products with a common factor that is not
  // negative, the one with the larger other factor is larger, by at least the common factor.
  Term product(const std::string& a, const std::string& b);
  // Quotient and remainder, rounded towards zero as C++ does. The divisor must be positive.
  std::pair<Term, Term> divided(const std::string& dividend, const std::string& divisor);

  // Whether a < b, or a == b, on this path.
  bool less(const std::string& a, const std::string& b);
  bool equal(const std::string& a, const std::string& b);
  // A fact that holds for every value, for example of a quotient.
  void fact(const std::string& fact);
  // Claims that `claim` is true whenever a run gets here.
  void must(const std::string& claim, const std::string& what);
  // While this is true, what operations need (must) is assumed instead: for relations that were
  // proved of all values elsewhere.
  bool trusting = false;
  // Counts a claim that is true on this path.
  void holds(const std::string& what) const;

  static std::string name(Term term) { return "v" + std::to_string(term); }

 private:
  friend void explore(const std::string&, const std::function<void()>&);

  // The outcome of a comparison, and whether the other outcome is still to be visited.
  struct Choice {
    bool outcome;
    bool other;
  };

  void add(const std::string& command);
  bool decide(const std::string& condition);
  [[nodiscard]] bool possible(const std::string& condition) const;

  int terms_ = 0;
  std::map<std::string, Term> known_terms_;
  std::map<std::string, std::pair<Term, Term>> known_quotients_;
  std::vector<std::pair<std::string, std::string>> products_;
  std::map<std::string, bool> decided_;
  std::vector<Choice> script_;  // this run's comparisons, in their order
  std::size_t position_ = 0;
  std::string text_;    // declarations, definitions, facts and conditions, in their order
  std::string prefix_;  // of the names of claims
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

template <int bits, bool is_signed>
class Integer {
 public:
  constexpr Integer() = default;
  template <std::integral Native>
  constexpr Integer(Native value) : value_(value) {}
  explicit constexpr Integer(Value value) : value_(value) {}

  // Wraps as C++ does if the value does not fit: the result is then any other value of the type.
  template <int from_bits, bool from_signed>
  explicit(!(bits >= from_bits && is_signed == from_signed)) constexpr Integer(
      const Integer<from_bits, from_signed>& other)
      : value_(other.value_) {
    if (other.term_ < 0) return;  // constants of the code, which the compiler has checked
    term_ = other.term_;
    if (bits > from_bits && is_signed) return;
    if (bits == from_bits && is_signed == from_signed) return;
    convert();
  }

  static Integer unknown(const std::string& name) {
    Integer result;
    result.term_ = path.unknown(name);
    path.fact("(and (<= " + least() + " " + result.text() + ") (<= " + result.text() + " " +
              most() + "))");
    return result;
  }

  [[nodiscard]] std::string text() const { return term_ < 0 ? text_of(value_) : Path::name(term_); }
  [[nodiscard]] constexpr bool constant() const { return term_ < 0; }
  [[nodiscard]] constexpr Value value() const { return value_; }

  // The result of an operation of this type.
  static Integer result(Path::Term term) {
    Integer made;
    made.term_ = term;
    path.must(
        "(and (<= " + least() + " " + made.text() + ") (<= " + made.text() + " " + most() + "))",
        "the result fits into its type");
    return made;
  }

  static std::string least() {
    if (!is_signed) return "0";
    return bits == 64 ? "(- 9223372036854775808)" : "(- 170141183460469231731687303715884105728)";
  }
  static std::string most() {
    if (bits == 64) return is_signed ? "9223372036854775807" : "18446744073709551615";
    return is_signed ? "170141183460469231731687303715884105727"
                     : "340282366920938463463374607431768211455";
  }

  constexpr Integer operator-() const {
    if (constant()) return Integer(-value_);
    return result(path.term("(- " + text() + ")"));
  }
  constexpr Integer& operator+=(const Integer& other) { return *this = *this + other; }

 private:
  template <int, bool>
  friend class Integer;

  void convert() {
    const std::string from = Path::name(term_);
    term_ = path.term("(wrapped " + std::to_string(bits) + (is_signed ? "s " : "u ") + from + ")");
    const std::string fits =
        "(and (<= " + least() + " " + from + ") (<= " + from + " " + most() + "))";
    path.fact("(=> " + fits + " (= " + text() + " " + from + "))");
    path.fact("(and (<= " + least() + " " + text() + ") (<= " + text() + " " + most() + "))");
  }

  Value value_ = 0;  // if it is a constant
  Path::Term term_ = -1;
};

template <class T>
struct IsInteger : std::false_type {};
template <int bits, bool is_signed>
struct IsInteger<Integer<bits, is_signed>> : std::true_type {};

// The type in which C++ computes with an A and a B: a native literal takes the other's type.
template <class A, class B>
struct Common;
template <int a, bool a_signed, int b, bool b_signed>
struct Common<Integer<a, a_signed>, Integer<b, b_signed>> {
  static_assert(a_signed == b_signed, "the code must convert before it computes");
  using type = Integer<(a > b ? a : b), a_signed>;
};
template <class A, std::integral B>
struct Common<A, B> {
  using type = A;
};
template <std::integral A, class B>
struct Common<A, B> {
  using type = B;
};
template <class B, class A>
concept MixedWith = IsInteger<A>::value || IsInteger<B>::value;
template <class A, class B>
using CommonOf = typename Common<A, B>::type;

#define HEADGATE_OPERATOR(symbol, smt)                                                       \
  template <class A, MixedWith<A> B>                                                         \
  constexpr CommonOf<A, B> operator symbol(A left, B right) {                                \
    const CommonOf<A, B> a(left), b(right);                                                  \
    if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() symbol b.value());     \
    return CommonOf<A, B>::result(path.term("(" smt " " + a.text() + " " + b.text() + ")")); \
  }
HEADGATE_OPERATOR(+, "+")
HEADGATE_OPERATOR(-, "-")
#undef HEADGATE_OPERATOR

template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator*(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() * b.value());
  return CommonOf<A, B>::result(path.product(a.text(), b.text()));
}

template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator/(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() / b.value());
  return CommonOf<A, B>::result(path.divided(a.text(), b.text()).first);
}
template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator%(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() % b.value());
  return CommonOf<A, B>::result(path.divided(a.text(), b.text()).second);
}
// Shifts occur in constants only.
template <int bits, bool is_signed>
constexpr Integer<bits, is_signed> operator<<(const Integer<bits, is_signed>& a, int by) {
  return Integer<bits, is_signed>(a.value() << by);
}

template <class A, MixedWith<A> B>
constexpr bool operator<(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return a.value() < b.value();
  return path.less(a.text(), b.text());
}
template <class A, MixedWith<A> B>
constexpr bool operator==(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return a.value() == b.value();
  return path.equal(a.text(), b.text());
}
template <class A, MixedWith<A> B>
constexpr bool operator>(const A& a, const B& b) {
  return b < a;
}
template <class A, MixedWith<A> B>
constexpr bool operator<=(const A& a, const B& b) {
  return !(b < a);
}
template <class A, MixedWith<A> B>
constexpr bool operator>=(const A& a, const B& b) {
  return !(a < b);
}

using Int64 = Integer<64, true>;
using Uint64 = Integer<64, false>;
using Int128 = Integer<128, true>;

// Some common divisor, which is all that the proof needs of std::gcd().
Uint64 some_common_divisor(const Uint64& a, const Uint64& b);

}  // namespace headgate::proofs
