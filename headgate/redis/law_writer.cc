#include "headgate/redis/law_writer.h"

#include <algorithm>
#include <string_view>

#include "headgate/base/duration.h"
#include "headgate/policy/algorithm.h"

namespace headgate::redis {
namespace {

// A text per call to Redis: in 64 bits if they are enough, because 128-bit divisions are slow.
std::string digits(u128 value) {
  if (value >> 64 == 0) return std::to_string(static_cast<std::uint64_t>(value));
  constexpr u128 parts = 1'000'000'000'000'000'000;
  const std::string low = std::to_string(static_cast<std::uint64_t>(value % parts));
  return digits(value / parts) + std::string(18 - low.size(), '0') + low;
}

// In the longest unit of which it is a whole number.
std::string duration(Nanos span) {
  const auto narrow = static_cast<std::uint64_t>(span);
  const bool fits = static_cast<Nanos>(narrow) == span;
  const auto unit =
      std::find_if(duration_units.rbegin(), duration_units.rend(), [&](const DurationUnit& one) {
        return fits ? narrow % static_cast<std::uint64_t>(one.ns) == 0 : span % one.ns == 0;
      });
  return digits(static_cast<u128>(span / unit->ns)) + std::string(unit->symbol);
}

std::string_view reset_name(limit::Reset reset) noexcept {
  switch (reset) {
    case limit::Reset::pace:
      return "pace";
    case limit::Reset::next:
      return "next";
    case limit::Reset::full:
      return "full";
    case limit::Reset::window:
      break;
  }
  return "window";
}

}  // namespace

std::string law_text(const limit::Law& law) {
  const limit::Parameters made = limit::parameters_of(law);
  const limit::Quota& quota = made.quota;
  const limit::Terms& terms = made.terms;
  const limit::Terms usual;
  std::string text;
  if (terms.algorithm != limit::Algorithm::linear) {
    text += policy::algorithm_name(terms.algorithm);
    text += ':';
  }
  text += digits(quota.units);
  const auto add = [&](std::string_view name, const std::string& value) {
    text += ',';
    text += name;
    text += value;
  };
  if (terms.algorithm != limit::Algorithm::concurrency) text += '/' + duration(quota.window);
  if (quota.count != 0) add("refill=", digits(quota.count) + '/' + duration(quota.period));
  if (terms.denied == limit::Denied::spend) add("denied=spend", "");
  if (terms.denied == limit::Denied::penalty) add("penalty=", duration(terms.penalty));
  if (terms.reset != usual.reset) add("reset=", std::string(reset_name(terms.reset)));
  if (terms.late) add("late", "");
  if (terms.aligned) add("aligned", "");
  if (terms.offset != usual.offset) add("offset=", duration(terms.offset));
  if (terms.log != usual.log) add("log=", digits(terms.log));
  if (terms.lease != usual.lease) add("lease=", duration(terms.lease));
  return text;
}

}  // namespace headgate::redis
