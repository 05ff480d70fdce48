// What a gateway may do to the rate limit fields of an upstream's response that already has some.
//
//   const Upstream upstream = Upstream::read(ratelimit_lines, policy_lines, older_fields);
//   switch (upstream.ratelimit()) {
//     case Treatment::add:     send the gateway's members in a line of their own, after the others
//     case Treatment::replace: drop all lines of this field, then do the same
//     case Treatment::keep:    keep the lines as they are and add no members to this field
//   }
//   if (upstream.has(name, pk)) name = upstream.free_name(name, pk, "gateway-", own_names);
//
// Upstream's members are never rewritten: a second line of a List field adds to it. The older forms
// hold one limit, so nothing can be added to them: leaves() returns whether upstream left one of
// them to the gateway.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/field/form.h"

namespace headgate::field {

enum class Treatment : std::uint8_t {
  add,      // absent, or a well-formed List: the lines stay byte for byte
  replace,  // malformed or empty: an added line would be malformed with it
  keep,     // the form of an older draft, to which nothing can be added
};

// Whether upstream sent fields with the names of the older forms (Family in read/family.h).
struct OlderFields {
  bool limit_fields = false;
  bool x_ratelimit = false;
};

class Upstream {
 public:
  // Reads the lines of upstream's RateLimit and RateLimit-Policy, in order; they need not outlive
  // the call. Allocates only if there are lines; returns unread(older) if memory is exhausted.
  [[nodiscard]] static Upstream read(std::span<const std::string_view> ratelimit_lines,
                                     std::span<const std::string_view> policy_lines,
                                     OlderFields older = {}) noexcept;

  // For responses with too many lines of the two fields to be read: both fields are kept.
  [[nodiscard]] static Upstream unread(OlderFields older) noexcept;

  [[nodiscard]] Treatment ratelimit() const noexcept { return ratelimit_; }
  [[nodiscard]] Treatment policy() const noexcept { return policy_; }

  // Whether the gateway can send this form. Form::ratelimit: always, as ratelimit() and policy()
  // say for each field. An older form: upstream sent none of its fields, except malformed ones,
  // which are replaced, and did not send RateLimit or RateLimit-Policy in another form.
  [[nodiscard]] bool leaves(Form form) const noexcept;

  // Whether upstream sent a member that a reader would confuse with one of this name and partition
  // key (raw bytes): the names are equal, and so are the keys, or one of the two has none.
  [[nodiscard]] bool has(std::string_view name, std::optional<std::string_view> pk) const noexcept;

  // Puts `prefix` (not empty) before `name` until the result is neither upstream's nor one of
  // `own_names`, which are the names of all of the gateway's members and those that this function
  // returned before for the same response. Returns std::nullopt if 8 prefixes are not enough or
  // memory is exhausted: then the member must be omitted.
  [[nodiscard]] std::optional<std::string> free_name(
      std::string_view name, std::optional<std::string_view> pk, std::string_view prefix,
      std::span<const std::string_view> own_names) const noexcept;

 private:
  struct Named {
    std::string name;
    std::optional<std::string> pk;
  };

  Treatment ratelimit_ = Treatment::add;
  Treatment policy_ = Treatment::add;
  OlderFields older_;
  bool lists_ = false;          // one of the two fields is a well-formed List
  std::vector<Named> members_;  // sorted by name, then those without key first, then by key
};

}  // namespace headgate::field
