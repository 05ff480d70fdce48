#include "headgate/field/form.h"

#include <algorithm>

#include "headgate/field/limit_fields.h"
#include "headgate/field/ratelimit.h"

namespace headgate::field {
namespace {

constexpr std::string_view two[] = {policy_name, ratelimit_name};
constexpr std::string_view four[] = {policy_name, draft_limit_fields.limit,
                                     draft_limit_fields.remaining, draft_limit_fields.reset};
constexpr std::string_view three[] = {draft_limit_fields.limit, draft_limit_fields.remaining,
                                      draft_limit_fields.reset};
constexpr std::string_view x[] = {x_limit_fields.limit, x_limit_fields.remaining,
                                  x_limit_fields.reset};
static_assert(fields_max == std::size(two) + std::size(three) + std::size(x));

}  // namespace

std::span<const std::string_view> field_names(Form form) noexcept {
  switch (form) {
    case Form::ratelimit:
    case Form::draft_07:
      return two;
    case Form::draft_06:
      return four;
    case Form::draft_03:
      return three;
    case Form::x_ratelimit:
      return x;
  }
  return {};
}

std::optional<std::string_view> shared_field(Form a, Form b) noexcept {
  const auto names = field_names(a);
  for (const std::string_view name : field_names(b)) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  }
  return std::nullopt;
}

}  // namespace headgate::field
