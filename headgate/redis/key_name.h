// What the name of a key says, as redis_key() writes it.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/limit/quota.h"

namespace headgate::redis {

// Views into the name.
struct KeyName {
  std::string_view policy;
  std::string_view partition;  // the parts of the partition key: policy::take_counted()
  limit::Algorithm algorithm = limit::Algorithm::linear;

  // The prefix may be any text; if it ends with a letter of D to H, the algorithm may be wrong.
  // std::nullopt if the name has another form. Never allocates.
  [[nodiscard]] static std::optional<KeyName> parse(std::string_view name) noexcept;
};

}  // namespace headgate::redis
