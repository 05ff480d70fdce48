#include "headgate/field/read/reset.h"

#include <algorithm>

#include "headgate/base/ascii.h"
#include "headgate/base/instant.h"
#include "headgate/field/date/go_duration.h"
#include "headgate/field/date/http_date.h"
#include "headgate/field/date/iso_date.h"
#include "headgate/field/read/plain_number.h"

namespace headgate::field {
namespace {

Reset moment(ResetForm form, Nanos at, std::optional<std::int64_t> base) noexcept {
  if (!base) return {form, std::nullopt};
  return {form, ceil_seconds(at - *base * nanos_per_second)};
}

Reset number(Nanos value, std::optional<std::int64_t> base) noexcept {
  constexpr Nanos least_milliseconds = 1'000'000'000'000 * nanos_per_second;
  constexpr Nanos least_moment = 1'000'000'000 * nanos_per_second;
  if (value >= least_milliseconds) {
    return moment(ResetForm::unix_milliseconds, ceil_div<Nanos>(value, 1000), base);
  }
  if (value >= least_moment) return moment(ResetForm::unix_seconds, value, base);
  return {ResetForm::seconds, ceil_seconds(value)};
}

}  // namespace

Reset parse_reset(std::string_view value, std::optional<std::int64_t> base) noexcept {
  value = trimmed(value);
  if (const auto plain = parse_plain_number(value)) return number(plain->billionths, base);
  if (const auto span = parse_go_duration(value)) {
    return {ResetForm::duration, ceil_seconds(*span)};
  }
  if (const auto date = parse_http_date(value, base.value_or(default_epoch_near))) {
    return moment(ResetForm::http_date, *date * nanos_per_second, base);
  }
  if (const auto date = parse_iso_date(value)) {
    return moment(ResetForm::iso_date, *date * nanos_per_second, base);
  }
  return {};
}

}  // namespace headgate::field
