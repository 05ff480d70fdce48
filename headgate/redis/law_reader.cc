#include "headgate/redis/law_reader.h"

#include <optional>

#include "headgate/base/duration.h"
#include "headgate/policy/algorithm.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using limit::Denied;
using limit::Reset;
using Fault = std::optional<std::string_view>;

// Removes what is before `end`, and `end`. Without an `end`, removes everything.
std::string_view take_until(std::string_view& text, char end) noexcept {
  const std::size_t at = text.find(end);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return head;
}

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t most) noexcept {
  const auto value = take_digits(text, u128{most} + 1);
  if (!value || !text.empty() || *value > most) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::optional<Nanos> duration(std::string_view text) noexcept {
  constexpr auto most = static_cast<u128>(limit::Quota::window_max);
  const auto value = take_digits(text, most + 1);
  const auto unit = duration_unit(text);
  if (!value || !unit || *value > most / static_cast<u128>(*unit)) return std::nullopt;
  return static_cast<Nanos>(*value) * *unit;
}

Fault read_algorithm(std::string_view name, limit::Terms& terms) noexcept {
  for (const Algorithm algorithm :
       {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
        Algorithm::moving_window, Algorithm::sliding_window_counter, Algorithm::concurrency}) {
    if (policy::algorithm_name(algorithm) != name) continue;
    terms.algorithm = algorithm;
    return std::nullopt;
  }
  return "the algorithm is unknown; expected linear, exponential, fixed-window, moving-window, "
         "sliding-window-counter or concurrency";
}

// QUOTA/WINDOW, or QUOTA alone.
Fault read_quota(std::string_view text, const limit::Terms& terms, limit::Quota& quota) noexcept {
  const bool has_window = text.find('/') != std::string_view::npos;
  const auto units = number(take_until(text, '/'), limit::Quota::units_max);
  if (!units) return "the quota is out of range; expected 0 to 999999999999999";
  quota.units = *units;
  if (terms.algorithm == Algorithm::concurrency) {
    if (has_window) return "concurrency has no window; expected its quota alone, as concurrency:10";
    return std::nullopt;
  }
  const auto window = duration(text);
  if (!window || *window < 1) {
    return "the window is no duration; expected QUOTA/WINDOW, as 100/60s, with a unit ns us ms s m "
           "h d w";
  }
  quota.window = *window;
  return std::nullopt;
}

Fault read_refill(std::string_view value, limit::Quota& quota) noexcept {
  const auto count = number(take_until(value, '/'), limit::Quota::units_max);
  const auto period = duration(value);
  if (!count || *count < 1 || !period || *period < 1) {
    return "refill is no rate; expected COUNT/PERIOD, as refill=40/1s";
  }
  quota.count = *count;
  quota.period = *period;
  return std::nullopt;
}

Fault read_reset(std::string_view value, limit::Terms& terms) noexcept {
  if (value == "pace") {
    terms.reset = Reset::pace;
  } else if (value == "next") {
    terms.reset = Reset::next;
  } else if (value == "full") {
    terms.reset = Reset::full;
  } else if (value == "window") {
    terms.reset = Reset::window;
  } else {
    return "reset is unknown; expected pace, next, full or window";
  }
  return std::nullopt;
}

Fault read_duration(std::string_view value, Nanos& into) noexcept {
  const auto read = duration(value);
  if (!read) return "a term is no duration; expected a number with a unit ns us ms s m h d w";
  into = *read;
  return std::nullopt;
}

Fault read_term(std::string_view term, limit::Quota& quota, limit::Terms& terms) noexcept {
  if (term == "late") {
    terms.late = true;
    return std::nullopt;
  }
  if (term == "aligned") {
    terms.aligned = true;
    return std::nullopt;
  }
  if (term == "denied=spend") {
    terms.denied = Denied::spend;
    return std::nullopt;
  }
  std::string_view value = term;
  const std::string_view name = take_until(value, '=');
  if (name == "refill") return read_refill(value, quota);
  if (name == "reset") return read_reset(value, terms);
  if (name == "offset") return read_duration(value, terms.offset);
  if (name == "lease") return read_duration(value, terms.lease);
  if (name == "penalty") {
    terms.denied = Denied::penalty;
    return read_duration(value, terms.penalty);
  }
  if (name == "log") {
    const auto records = number(value, limit::Terms::log_max);
    if (!records || *records < 1) return "log is out of range; expected 1 to 65536";
    terms.log = static_cast<std::uint32_t>(*records);
    return std::nullopt;
  }
  return "a term is unknown; expected refill=COUNT/PERIOD, denied=spend, penalty=TIME, reset=WHEN, "
         "late, aligned, offset=TIME, log=RECORDS or lease=TIME";
}

}  // namespace

Result<limit::Law, std::string_view> read_law(std::string_view text) noexcept {
  limit::Quota quota;
  limit::Terms terms;
  std::string_view head = take_until(text, ',');
  Fault fault;
  if (head.find(':') != std::string_view::npos) {
    fault = read_algorithm(take_until(head, ':'), terms);
  }
  if (!fault) fault = read_quota(head, terms, quota);
  while (!fault && !text.empty()) fault = read_term(take_until(text, ','), quota, terms);
  if (fault) return Failure<std::string_view>(*fault);
  const auto law = limit::make_law(quota, terms);
  if (law) return *law;
  return Failure<std::string_view>(
      limit::offers(terms.algorithm, terms.denied)
          ? "the law is out of range, or has a term that its algorithm does not offer"
          : "this algorithm cannot charge denied requests in that way");
}

}  // namespace headgate::redis
