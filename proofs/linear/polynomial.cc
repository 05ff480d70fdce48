#include "proofs/linear/polynomial.h"

#include <algorithm>

namespace headgate::proofs {

std::string name_of(const Product& product) {
  std::string name;
  for (const Unknown factor : product) {
    name += (name.empty() ? "v" : "*v") + std::to_string(factor);
  }
  return name;
}

std::optional<Product> without(const Product& product, Unknown factor) {
  const auto found = std::find(product.begin(), product.end(), factor);
  if (found == product.end()) return std::nullopt;
  Product rest = product;
  rest.erase(rest.begin() + (found - product.begin()));
  return rest;
}

void Polynomial::add(const Product& product, const Whole& times) {
  Whole& coefficient = parts_[product];
  coefficient += times;
  if (coefficient == 0) parts_.erase(product);
}

Polynomial Polynomial::of(const Product& product) {
  Polynomial made;
  made.add(product, 1);
  return made;
}

std::optional<Whole> Polynomial::constant() const {
  if (parts_.empty()) return Whole(0);
  if (parts_.size() == 1 && parts_.begin()->first.empty()) return parts_.begin()->second;
  return std::nullopt;
}

bool Polynomial::can_be_solved_for(Unknown unknown) const {
  const auto alone = parts_.find({unknown});
  if (alone == parts_.end() || abs(alone->second) != 1) return false;
  return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) {
    return part.first == alone->first || !without(part.first, unknown);
  });
}

Polynomial Polynomial::with(Unknown unknown, const Polynomial& value) const {
  Polynomial result;
  for (const auto& [product, times] : parts_) {
    Product rest = product;
    Polynomial factor(times);
    while (const std::optional<Product> less = without(rest, unknown)) {
      rest = *less;
      factor = factor * value;
    }
    result = result + factor * of(rest);
  }
  return result;
}

std::optional<Polynomial> Polynomial::divided_by(const Product& divisor) const {
  Polynomial result;
  for (const auto& [product, times] : parts_) {
    std::optional<Product> rest = product;
    for (const Unknown factor : divisor) {
      rest = without(*rest, factor);
      if (!rest) return std::nullopt;
    }
    result.add(*rest, times);
  }
  return result;
}

std::string Polynomial::text() const {
  const auto number = [](const Whole& value) {
    return value < 0 ? "(- " + Whole(-value).str() + ")" : value.str();
  };
  std::string sum;
  for (const auto& [product, times] : parts_) {
    if (product.empty()) {
      sum += " " + number(times);
    } else if (times == 1) {
      sum += " " + name_of(product);
    } else {
      sum += " (* " + number(times) + " " + name_of(product) + ")";
    }
  }
  return parts_.empty() ? "0" : parts_.size() == 1 ? sum.substr(1) : "(+" + sum + ")";
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial sum = a;
  for (const auto& [product, times] : b.parts_) sum.add(product, times);
  return sum;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) {
  Polynomial sum = a;
  for (const auto& [product, times] : b.parts_) sum.add(product, -times);
  return sum;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial sum;
  for (const auto& [left, times_left] : a.parts_) {
    for (const auto& [right, times_right] : b.parts_) {
      Product product;
      std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(product));
      sum.add(product, times_left * times_right);
    }
  }
  return sum;
}

Condition Condition::negated() const {
  switch (kind) {
    case Kind::zero:
      return {sum, Kind::not_zero};
    case Kind::not_zero:
      return {sum, Kind::zero};
    case Kind::not_negative:
      break;
  }
  return less(sum, Polynomial());
}

std::optional<bool> Condition::decided() const {
  const std::optional<Whole> value = sum.constant();
  if (!value) return std::nullopt;
  return kind == Kind::not_negative ? *value >= 0 : (*value == 0) == (kind == Kind::zero);
}

std::string Condition::text() const {
  switch (kind) {
    case Kind::zero:
      return "(= 0 " + sum.text() + ")";
    case Kind::not_zero:
      return "(or (<= 1 " + sum.text() + ") (<= " + sum.text() + " (- 1)))";
    case Kind::not_negative:
      break;
  }
  return "(<= 0 " + sum.text() + ")";
}

Condition at_most(const Polynomial& a, const Polynomial& b) {
  return {b - a, Condition::Kind::not_negative};
}

Condition less(const Polynomial& a, const Polynomial& b) { return at_most(a + Polynomial(1), b); }

Condition equal(const Polynomial& a, const Polynomial& b) {
  const Polynomial difference = a - b;
  const bool first_is_negative =
      !difference.parts().empty() && difference.parts().rbegin()->second < 0;
  return {first_is_negative ? b - a : difference, Condition::Kind::zero};
}

}  // namespace headgate::proofs
