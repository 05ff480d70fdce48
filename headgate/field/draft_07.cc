#include "headgate/field/draft_07.h"

#include <algorithm>

#include "headgate/base/instant.h"

namespace headgate::field {

bool write_draft_07(Writer& out, std::uint64_t limit, std::uint64_t remaining,
                    std::uint64_t reset) noexcept {
  const Writer::Mark before = out.mark();
  out.put("limit=");
  out.put_decimal(std::min(limit, field_integer_max));
  out.put(", remaining=");
  out.put_decimal(std::min(remaining, field_integer_max));
  out.put(", reset=");
  out.put_decimal(std::min(reset, field_integer_max));
  if (!out.overflow()) return true;
  out.rewind(before);
  return false;
}

}  // namespace headgate::field
