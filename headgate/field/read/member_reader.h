// Reading RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers).
//
// A field that is not a List of names with the right parameters is malformed, and HTTP requires
// that all of it is ignored. A name is a String, and may be a Token, as the examples of some drafts
// have it: "burst" and burst are the same. Parameters that the draft does not define are ignored,
// whatever their type; if a parameter is repeated, the last one counts.
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

// A member as views of the input. A member of RateLimit has r, t and pk; one of RateLimit-Policy
// has q, unit, w and pk.
struct RawMember {
  sf::RawItem name;  // a String or a Token
  std::optional<std::uint64_t> q;
  std::optional<sf::RawItem> unit;  // a String
  std::optional<std::uint64_t> w;   // 0, which a draft of 2024 allowed, is read as absent
  std::optional<std::uint64_t> r;
  std::optional<std::uint64_t> t;
  std::optional<sf::RawItem> pk;  // a Byte Sequence
};

// Reads one member after the other from a field's value (its lines joined) without allocating. The
// members are valid only if ok() returns true after the last one.
class MemberReader {
 public:
  MemberReader(FieldKind kind, std::string_view value) noexcept : kind_(kind), reader_(value) {}

  // Returns false after the last member and at an error.
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
  empty,    // no member, which means the same as no field
  current,  // a List of names
  legacy,   // RateLimit as draft-07's Dictionary, RateLimit-Policy as a List of Integers
  malformed,
};

// A field's members; empty unless its shape is `current`.
struct Reading {
  Shape shape = Shape::empty;
  std::vector<Member> members;
  sf::Error error{nullptr, 0};  // set if it is malformed
};

// Reads a field's value, or its lines in order. May throw std::bad_alloc. Linear time.
[[nodiscard]] Reading read_members(FieldKind kind, std::string_view value);
[[nodiscard]] Reading read_members(FieldKind kind, std::span<const std::string_view> lines);

}  // namespace headgate::field
