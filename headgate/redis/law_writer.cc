#include "headgate/redis/law_writer.h"

#include <algorithm>
#include <string_view>

#include "headgate/base/duration.h"
#include "headgate/policy/algorithm.h"

namespace headgate::redis {
namespace {

std::string digits(u128 value) {
  std::string text;
  do {
    text += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value > 0);
  std::reverse(text.begin(), text.end());
  return text;
}

// In the longest unit of which it is a whole number.
std::string duration(Nanos span) {
  const auto unit = std::find_if(duration_units.rbegin(), duration_units.rend(),
                                 [&](const DurationUnit& one) { return span % one.ns == 0; });
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
