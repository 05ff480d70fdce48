#include "headgate/field/quota_policy.h"

#include <algorithm>

#include "headgate/base/instant.h"

namespace headgate::field {

bool write_quota_policy(Writer& out, std::uint64_t q, std::uint64_t w) noexcept {
  if (w == 0) return false;
  const Writer::Mark before = out.mark();
  out.put_decimal(std::min(q, field_integer_max));
  out.put(";w=");
  out.put_decimal(std::min(w, field_integer_max));
  if (!out.overflow()) return true;
  out.rewind(before);
  return false;
}

}  // namespace headgate::field
