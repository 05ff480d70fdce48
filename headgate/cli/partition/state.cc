#include "headgate/cli/partition/state.h"

#include <nlohmann/json.hpp>

#include "headgate/cli/printable.h"
#include "headgate/policy/quantity.h"

namespace headgate::cli {
namespace {

using nlohmann::json;

template <class T>
std::optional<T> number_or_null(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

// A server of an earlier version has no such member.
std::optional<PartitionState::Denial> denial_of(const json& body) {
  const json last = body.value("last_denial", json());
  if (last.is_null()) return std::nullopt;
  return PartitionState::Denial{
      last.at("ago").get<std::uint64_t>(),   last.at("enforced").get<bool>(),
      last.at("cost").get<std::uint64_t>(),  last.at("r").get<std::uint64_t>(),
      last.at("quota").get<std::uint64_t>(), number_or_null<std::uint64_t>(last.at("wait"))};
}

// "; last denied 12 s ago: cost 5, 2 of 100 requests left, a wait of 3 s"
std::string words_of(const PartitionState::Denial& denial, const std::string& unit) {
  std::string out =
      std::string("; last ") + (denial.enforced ? "denied " : "denied in shadow mode ") +
      seconds_in_words(denial.ago) + " ago: cost " + std::to_string(denial.cost) + ", " +
      std::to_string(denial.left) + " of " + std::to_string(denial.quota) + ' ' + unit + " left";
  if (denial.wait) out += ", a wait of " + seconds_in_words(*denial.wait);
  return out;
}

}  // namespace

Result<PartitionState, std::string> PartitionState::parse(std::string_view text) {
  try {
    const json body = json::parse(text);
    const auto seconds = [&](const char* name) {
      return number_or_null<std::uint64_t>(body.at(name));
    };
    PartitionState state;
    state.policy = printable(body.at("policy").get<std::string>());
    state.key = printable(body.at("key").get<std::string>());
    state.unit = printable(body.at("unit").get<std::string>());
    state.limited = body.at("limited").get<bool>();
    state.enforced = body.at("enforced").get<bool>();
    state.has_override = body.at("override").get<bool>();
    state.admitted = body.at("admitted").get<bool>();
    state.in_outage = body.at("outage").get<bool>();
    state.quota = seconds("quota").value_or(0);
    state.left = seconds("r").value_or(0);
    if (const auto window = number_or_null<double>(body.at("window_ns"))) {
      // Windows of more than 64 bits [ns] are whole seconds; 53 bits of them are exact.
      state.window = *window < 9e18 ? static_cast<Nanos>(body.at("window_ns").get<std::int64_t>())
                                    : static_cast<Nanos>(*window / 1e9) * nanos_per_second;
    }
    state.wait = seconds("wait");
    state.full = seconds("full");
    state.last_denial = denial_of(body);
    return state;
  } catch (const json::exception&) {
    // What the library says is about its own types.
    return Failure<std::string>("not what headgate answers");
  }
}

std::string time_words(std::uint64_t unix_time) {
  // After the year 9999 there is no date to show.
  constexpr std::uint64_t sayable = 253'402'300'799;
  const auto time = static_cast<std::time_t>(unix_time);
  std::tm parts{};
  char text[32];
  if (unix_time > sayable || gmtime_r(&time, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return {};
  }
  return text;
}

std::string until_words(std::uint64_t seconds, std::time_t now) {
  const std::string end = time_words(static_cast<std::uint64_t>(now) + seconds);
  return "for " + seconds_in_words(seconds) + " more" + (end.empty() ? "" : ", until " + end);
}

std::string PartitionState::words(std::time_t now) const {
  std::string out = policy + ", key " + key + ": ";
  if (!limited) return out + "not limited; the policy is off, or this key is unlimited";
  const std::string units = std::to_string(quota) + ' ' + unit;
  const std::string quota_words =
      window ? units + " per " + policy::duration_text(*window) : units + " at the same time";
  if (in_outage) return out + "Redis is away, so what is left of " + quota_words + " is not known";

  if (delays()) {
    out += "a request waits " + seconds_in_words(*wait) + ", then passes";
  } else if (admitted) {
    out += "admits";
  } else {
    out += enforced ? "denies" : "would deny, but is in shadow mode,";
    if (wait) {
      out += ' ' + until_words(*wait, now);
    } else {
      out += quota == 0 ? " always: the quota is 0" : " until a request of this key has ended";
    }
  }
  out += "; " + std::to_string(left) + " of " + quota_words + " left";
  if (has_override) out += " (an override)";
  if (full && *full > 0) out += ", full again in " + seconds_in_words(*full);
  if (last_denial) out += words_of(*last_denial, unit);
  return out;
}

}  // namespace headgate::cli
