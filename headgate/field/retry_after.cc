#include "headgate/field/retry_after.h"

#include <algorithm>
#include <iterator>

#include "headgate/base/ascii.h"
#include "headgate/base/instant.h"
#include "headgate/field/date/http_date.h"
#include "headgate/field/read/plain_number.h"

namespace headgate::field {
namespace {

std::optional<std::uint64_t> delay_seconds(std::string_view digits) noexcept {
  if (digits.empty()) return {};
  std::uint64_t seconds = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return {};
    seconds = std::min(seconds * 10 + static_cast<std::uint64_t>(c - '0'), field_integer_max);
  }
  return seconds;
}

}  // namespace

std::optional<std::uint64_t> parse_retry_after(std::string_view value,
                                               std::optional<std::int64_t> base) noexcept {
  value = trimmed(value);
  if (const auto seconds = delay_seconds(value)) return seconds;
  if (!base) return {};
  const auto date = parse_http_date(value, *base);
  if (!date) return {};
  const i128 wait = i128{*date} - *base;
  return static_cast<std::uint64_t>(std::clamp<i128>(wait, 0, field_integer_max));
}

bool is_retry_after_ms(std::string_view name) noexcept {
  return std::any_of(std::begin(retry_after_ms_names), std::end(retry_after_ms_names),
                     [&](std::string_view known) { return equal_ignoring_case(name, known); });
}

std::optional<std::uint64_t> parse_retry_after_ms(std::string_view value) noexcept {
  const auto milliseconds = parse_plain_number(value);
  if (!milliseconds) return {};
  constexpr i128 second = 1'000'000'000'000;  // [billionths of a millisecond]
  return static_cast<std::uint64_t>(ceil_div<i128>(milliseconds->billionths, second));
}

bool write_retry_after(Writer& out, std::uint64_t seconds) noexcept {
  const Writer::Mark before = out.mark();
  out.put_decimal(std::min(seconds, field_integer_max));
  if (!out.overflow()) return true;
  out.rewind(before);
  return false;
}

}  // namespace headgate::field
