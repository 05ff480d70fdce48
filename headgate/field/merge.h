// What a gateway may do to the rate limit fields of a response that already has some.
//
//   const Upstream upstream = Upstream::read(ratelimit_lines, policy_lines, older_fields);
//   switch (upstream.ratelimit()) {
//     case Treatment::add:     send the own members on a line of their own, after the others
//     case Treatment::replace: drop all lines of this field, then the same
//     case Treatment::keep:    leave the lines as they are and send no own members in this field
//   }
//   if (upstream.has(name, pk)) name = upstream.free_name(name, pk, "gateway-", own_names);
//
// Upstream's members are never rewritten: a second line of a List field adds to it. The older forms
// tell one limit, so nothing can be added to them: `leaves` says whether they are still ours to
// send.
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
  add,      // absent, or a good List: lines stay byte for byte
  replace,  // malformed or empty: joined with ours it would spoil both
  keep,     // of an older draft, whose form cannot be added to
};

// Whether upstream sent fields of the older forms' names (family.h).
struct OlderFields {
  bool limit_fields = false;
  bool x_ratelimit = false;
};

class Upstream {
 public:
  // Lines of upstream's RateLimit and RateLimit-Policy, in order; they need not outlive the call.
  // Allocates only if there are lines; should memory be out, both fields are kept as they are.
  [[nodiscard]] static Upstream read(std::span<const std::string_view> ratelimit_lines,
                                     std::span<const std::string_view> policy_lines,
                                     OlderFields older = {}) noexcept;

  // One whose lines of the two fields are too many to be read: they are kept, and nothing is added.
  [[nodiscard]] static Upstream unread(OlderFields older) noexcept;

  [[nodiscard]] Treatment ratelimit() const noexcept { return ratelimit_; }
  [[nodiscard]] Treatment policy() const noexcept { return policy_; }

  // Whether this older form can be sent: none of its fields is upstream's already, but for those
  // to be replaced, and RateLimit and RateLimit-Policy are not of another form.
  [[nodiscard]] bool leaves(Form form) const noexcept;

  // Whether a member of either field would be taken for one of this name and partition key (raw
  // bytes): the name is the same, and so is the key, or one of the two has none.
  [[nodiscard]] bool has(std::string_view name, std::optional<std::string_view> pk) const noexcept;

  // `name` with `prefix` before it, as often as it takes to be neither upstream's nor one of
  // `own_names`: those of all own members, and those that this function gave to some of them for
  // the same response. Nothing if eight times are not enough or memory is out: then the member
  // must be left out. `prefix` is not empty.
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
  bool lists_ = false;          // one of the two fields is a good List
  std::vector<Named> members_;  // sorted by name, then those without key first, then by key
};

}  // namespace headgate::field
