// Parts of a policy file that are well-formed and have no effect, for warnings.
//
// Each function returns the end of a sentence that begins with the part, as "host 'a:80' ...", or
// std::nullopt if it finds nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/match/component.h"
#include "headgate/policy/match/condition.h"

namespace headgate::policy {

// For the pattern of a `host`, or the host of an override's id.
[[nodiscard]] std::optional<std::string> lint_host(std::string_view host);

// For a `method`.
[[nodiscard]] std::optional<std::string> lint_method(std::string_view method);

// For the name of a header.
[[nodiscard]] std::optional<std::string> lint_header(std::string_view name);

// For a component of a `key` or of `has`: the same, if it is a header.
[[nodiscard]] std::optional<std::string> lint_component(const Component& component);

// For the pattern of a `path`, in a condition of this effect.
[[nodiscard]] std::optional<std::string> lint_path(std::string_view pattern, Effect effect);

// The same for an `exact-path`.
[[nodiscard]] std::optional<std::string> lint_exact_path(std::string_view pattern, Effect effect);

// Checks the ids of overrides.
class IdLinter {
 public:
  // `allow`, the conditions of that key, outlives this.
  explicit IdLinter(const std::vector<Condition>& allow);

  // For the id of an override: whether no request has these parts of the key and meets one of the
  // conditions (no conditions: every request does), or all that do are allowed. Finds nothing any
  // more when it has compared millions of ids and conditions with each other.
  [[nodiscard]] std::optional<std::string> lint(std::span<const Component> key,
                                                std::span<const std::string_view> parts,
                                                const std::vector<Condition>& conditions);

 private:
  const std::vector<Condition>& allow_;
  std::size_t allow_weight_;
  std::size_t left_;  // comparisons
};

}  // namespace headgate::policy
