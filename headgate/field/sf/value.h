// The values of Structured Fields for HTTP (RFC 9651, section 3), as data.
//
// Values own their bytes. They are not checked here: the parser makes only valid values, and the
// serialiser returns an error for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "headgate/base/int128.h"

namespace headgate::field::sf {

inline constexpr std::int64_t integer_max = 999'999'999'999'999;      // section 3.3.1
inline constexpr std::int64_t thousandths_max = 999'999'999'999'999;  // section 3.3.2

// `what` is a static text that says what was expected; `offset` is the position in bytes in the
// input (parsing) or in the output (serialising).
struct Error {
  const char* what;
  std::size_t offset;
};

// A Decimal without rounding: 1.5 is 1500 thousandths.
struct Decimal {
  std::int64_t thousandths = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;

  // numerator / denominator rounded to thousandths, a tie to the even one (section 4.1.5).
  // Requires denominator > 0 and |numerator| below 10^35.
  [[nodiscard]] static constexpr Decimal nearest(i128 numerator, i128 denominator) noexcept {
    const i128 scaled = numerator * 1000;
    const i128 low = floor_div(scaled, denominator);
    const i128 twice_rest = (scaled - low * denominator) * 2;
    const bool up = twice_rest > denominator || (twice_rest == denominator && low % 2 != 0);
    return {static_cast<std::int64_t>(low + (up ? 1 : 0))};
  }
};

struct Token {
  std::string text;
  friend bool operator==(const Token&, const Token&) = default;
};

struct Bytes {
  std::string bytes;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

// Seconds since 1970-01-01T00:00:00Z.
struct Date {
  std::int64_t seconds = 0;
  friend bool operator==(const Date&, const Date&) = default;
};

struct DisplayString {
  std::string utf8;
  friend bool operator==(const DisplayString&, const DisplayString&) = default;
};

// Integer is std::int64_t, String std::string, Boolean bool.
using BareItem =
    std::variant<std::int64_t, Decimal, std::string, Token, Bytes, bool, Date, DisplayString>;

struct Parameter {
  std::string key;
  BareItem value;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};
using Parameters = std::vector<Parameter>;  // keys unique, in order of first appearance

struct Item {
  BareItem value;
  Parameters parameters;
  friend bool operator==(const Item&, const Item&) = default;
};

struct InnerList {
  std::vector<Item> items;
  Parameters parameters;
  friend bool operator==(const InnerList&, const InnerList&) = default;
};

using Member = std::variant<Item, InnerList>;
using List = std::vector<Member>;

struct DictionaryMember {
  std::string key;
  Member value;
  friend bool operator==(const DictionaryMember&, const DictionaryMember&) = default;
};
using Dictionary = std::vector<DictionaryMember>;  // keys unique, in order of first appearance

}  // namespace headgate::field::sf
