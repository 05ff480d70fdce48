// Sums of products of unknown whole numbers, with whole coefficients: what a run computes, in a
// form in which equal results are equal objects.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headgate::proofs {

// Throws if a value does not fit: the numbers of 128 bits, times those of another sum, do.
using Whole = boost::multiprecision::checked_int512_t;

// An unknown, by its number.
using Unknown = int;
// The factors of a product in ascending order; none: 1.
using Product = std::vector<Unknown>;

// SMT-LIB's name of a product: v3*v5 is a name there, not an operation.
std::string name_of(const Product& product);

class Polynomial {
 public:
  Polynomial() = default;  // 0
  explicit Polynomial(const Whole& constant) { add({}, constant); }
  static Polynomial of(const Product& product);

  [[nodiscard]] const std::map<Product, Whole>& parts() const { return parts_; }
  [[nodiscard]] std::optional<Whole> constant() const;
  // An unknown that can be computed from the others if this sum is 0: it is a part by itself, and
  // in no other one.
  [[nodiscard]] bool can_be_solved_for(Unknown unknown) const;
  // The sum with `value` in place of an unknown.
  [[nodiscard]] Polynomial with(Unknown unknown, const Polynomial& value) const;
  // The sum divided by a product, if each part is a multiple of that.
  [[nodiscard]] std::optional<Polynomial> divided_by(const Product& product) const;
  // A term of SMT-LIB.
  [[nodiscard]] std::string text() const;

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
  friend bool operator<(const Polynomial& a, const Polynomial& b) { return a.parts_ < b.parts_; }

 private:
  void add(const Product& product, const Whole& times);

  std::map<Product, Whole> parts_;  // no coefficient is 0
};

// What is left of a product without one of its factors, if it has that factor.
std::optional<Product> without(const Product& product, Unknown factor);

// That a sum is at least 0, or is 0, or is not 0.
struct Condition {
  enum class Kind { not_negative, zero, not_zero };

  Polynomial sum;
  Kind kind = Kind::not_negative;

  [[nodiscard]] Condition negated() const;
  // Whether it holds, if that does not depend on unknowns.
  [[nodiscard]] std::optional<bool> decided() const;
  // A formula of SMT-LIB. It is as strong for rational numbers as for whole ones.
  [[nodiscard]] std::string text() const;

  friend bool operator<(const Condition& a, const Condition& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.sum < b.sum;
  }
};

Condition at_most(const Polynomial& a, const Polynomial& b);
Condition less(const Polynomial& a, const Polynomial& b);
Condition equal(const Polynomial& a, const Polynomial& b);

}  // namespace headgate::proofs
