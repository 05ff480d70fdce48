// Integers whose values are not known: a run on them visits one path through the code (path.h).
//
// A comparison that is not decided by constants forks the run: explore() runs a function once for
// each combination of outcomes. Values are whole numbers without bounds; that no operation of the
// code leaves its type is a claim of its own, which every operation adds (Path::must).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "proofs/linear/path.h"

namespace headgate::proofs {

__extension__ typedef __int128 Value;

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
    return of(path.unknown(name, least(), most()));
  }

  [[nodiscard]] constexpr bool constant() const { return term_ < 0; }
  [[nodiscard]] constexpr Value value() const { return value_; }
  [[nodiscard]] Path::Term term() const { return term_ < 0 ? path.term(sum()) : term_; }
  [[nodiscard]] Polynomial sum() const {
    return term_ < 0 ? Polynomial(Whole(value_)) : path.value(term_);
  }

  // A value that is known to fit.
  static Integer of(Path::Term term) {
    Integer made;
    made.term_ = term;
    return made;
  }
  // The result of an operation of this type.
  static Integer result(const Polynomial& sum) {
    path.must_fit(sum, least(), most());
    return of(path.term(sum));
  }

  static Whole least() { return is_signed ? -(Whole(1) << (bits - 1)) : Whole(0); }
  static Whole most() { return (Whole(1) << (is_signed ? bits - 1 : bits)) - 1; }

  constexpr Integer operator-() const {
    if (constant()) return Integer(-value_);
    return result(Polynomial() - sum());
  }
  constexpr Integer& operator+=(const Integer& other) { return *this = *this + other; }

 private:
  template <int, bool>
  friend class Integer;

  void convert() {
    const Polynomial from = sum();
    const Condition not_below = at_most(Polynomial(least()), from);
    const Condition not_above = at_most(from, Polynomial(most()));
    const bool fits =
        path.known({not_below, not_above}) || (path.decide(not_below) && path.decide(not_above));
    if (!fits) *this = unknown("(a value that did not fit)");
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

template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator+(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() + b.value());
  return CommonOf<A, B>::result(a.sum() + b.sum());
}
template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator-(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() - b.value());
  return CommonOf<A, B>::result(a.sum() - b.sum());
}
template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator*(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() * b.value());
  return CommonOf<A, B>::result(path.product(a.sum(), b.sum()));
}
template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator/(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() / b.value());
  return CommonOf<A, B>::result(path.divided(a.sum(), b.sum()).first);
}
template <class A, MixedWith<A> B>
constexpr CommonOf<A, B> operator%(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return CommonOf<A, B>(a.value() % b.value());
  return CommonOf<A, B>::result(path.divided(a.sum(), b.sum()).second);
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
  return path.decide(less(a.sum(), b.sum()));
}
template <class A, MixedWith<A> B>
constexpr bool operator==(const A& left, const B& right) {
  const CommonOf<A, B> a(left), b(right);
  if (a.constant() && b.constant()) return a.value() == b.value();
  return path.decide(equal(a.sum(), b.sum()));
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
inline Uint64 some_common_divisor(const Uint64& a, const Uint64& b) {
  return Uint64::of(path.common_divisor(a.term(), b.term(), Uint64::most()));
}

}  // namespace headgate::proofs
