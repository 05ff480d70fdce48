// Reading RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers).
//
// A field that is not a List of Strings with the right parameters is malformed as a whole, and a
// reader of HTTP must ignore all of it. Parameters that the draft does not define are ignored,
// whatever their type; of duplicates the last one counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/field/read/member.h"
#include "headgate/field/sf/reader.h"

namespace headgate::field {

enum class FieldKind : std::uint8_t { ratelimit, policy };

// A member where it stands in the input. Of RateLimit: r, t and pk; of RateLimit-Policy: q, unit,
// w and pk.
struct RawMember {
  sf::RawItem name;  // a String
  std::optional<std::uint64_t> q;
  std::optional<sf::RawItem> unit;  // a String
  std::optional<std::uint64_t> w;   // 0, which a draft of 2024 allowed, is read as absent
  std::optional<std::uint64_t> r;
  std::optional<std::uint64_t> t;
  std::optional<sf::RawItem> pk;  // a Byte Sequence
};

// Pulls members from a field's value (its lines joined) without allocating. What was pulled counts
// only if ok() holds at the end.
class MemberReader {
 public:
  MemberReader(FieldKind kind, std::string_view value) noexcept : kind_(kind), reader_(value) {}

  [[nodiscard]] bool next(RawMember& member) noexcept;

  [[nodiscard]] bool ok() const noexcept { return fault_.what == nullptr && reader_.ok(); }
  [[nodiscard]] sf::Error error() const noexcept {
    return fault_.what != nullptr ? fault_ : reader_.error();
  }

 private:
  bool limit_parameters(RawMember& member, std::size_t start) noexcept;
  bool policy_parameters(RawMember& member, std::size_t start) noexcept;
  bool fault(const char* what, std::size_t offset) noexcept;

  FieldKind kind_;
  bool started_ = false;
  sf::Reader reader_;
  sf::Error fault_{nullptr, 0};
};

enum class Shape : std::uint8_t {
  empty,    // no member: same as no field
  current,  // a List of Strings
  legacy,   // RateLimit as draft-07's Dictionary, RateLimit-Policy as a List of Integers
  malformed,
};

// A field's members; none unless its shape is `current`.
struct Reading {
  Shape shape = Shape::empty;
  std::vector<Member> members;
  sf::Error error{nullptr, 0};  // why it is malformed
};

// Reads a field's value, or its lines in order. Allocates, so may throw std::bad_alloc. Linear in
// the length.
[[nodiscard]] Reading read_members(FieldKind kind, std::string_view value);
[[nodiscard]] Reading read_members(FieldKind kind, std::span<const std::string_view> lines);

}  // namespace headgate::field
