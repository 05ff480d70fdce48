#include "headgate/limit/boulder.h"

#include "headgate/limit/linear.h"

namespace headgate::limit {

std::optional<Quota> boulder_quota(std::uint64_t burst, std::uint64_t count,
                                   Nanos period) noexcept {
  if (burst < 1 || burst > Quota::units_max || count < 1 || period < static_cast<Nanos>(count)) {
    return std::nullopt;
  }
  const Nanos interval = period / static_cast<Nanos>(count);
  if (interval > Quota::window_max / static_cast<Nanos>(burst)) return std::nullopt;
  const Quota quota{burst, static_cast<Nanos>(burst) * interval};
  if (!LinearExact::make(quota, {})) return std::nullopt;
  return quota;
}

}  // namespace headgate::limit
