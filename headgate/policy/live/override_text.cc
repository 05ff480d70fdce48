#include "headgate/policy/live/override_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "headgate/base/json_scanner.h"
#include "headgate/base/json_text.h"
#include "headgate/base/whole_number.h"
#include "headgate/limit/quota.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/quantity.h"

namespace headgate::policy {
namespace {

constexpr std::string_view unlimited = "unlimited";

template <class Value>
void append_or_null(std::string& out, std::string_view head, const std::optional<Value>& value) {
  out.append(head);
  if (value) {
    append_json(out, *value);
  } else {
    out.append("null");
  }
}

void append_text(std::string& out, std::string_view head, std::string_view text) {
  out.append(head);
  append_json(out, text);
}

// Reads one text. Every method continues after a fault, and the first fault counts.
class Reading {
 public:
  Reading(std::string_view text, std::string& strings) : in_(text, strings) {}

  // The members of an override that a text may have.
  using Read = void (Reading::*)(LiveOverride&);
  struct Member {
    std::string_view name;
    Read read;
  };

  void read(LiveOverride& to, std::span<const Member> members) {
    const std::size_t at = in_.at();
    std::uint32_t given = 0;
    in_.open('{');
    while (in_.more('}')) {
      const auto name = in_.name();
      if (!name) return;
      const auto member = std::find_if(members.begin(), members.end(),
                                       [&](const Member& one) { return one.name == *name; });
      if (member == members.end()) return fail(in_.last(), unknown(*name, members));
      const auto bit = std::uint32_t{1} << (member - members.begin());
      if ((given & bit) != 0) return fail(in_.last(), in_quotes(*name) + " is given twice");
      given |= bit;
      (this->*member->read)(to);
    }
    if (!has_quota_) fail(at, "'quota' is missing: a number of units, or \"unlimited\"");
    has_quota_ = false;
  }

  void quota(LiveOverride& to) {
    has_quota_ = true;
    if (in_.sees('"')) {
      if (in_.string() != unlimited) fail(in_.last(), quota_words());
      return;
    }
    const auto number = in_.number();
    if (!number) return;
    const auto units = whole_number<std::uint64_t>(*number);
    if (!units || *units > limit::Quota::units_max) return fail(in_.last(), quota_words());
    to.quota = *units;
  }

  void window(LiveOverride& to) { to.window = duration("window"); }
  void lasts(LiveOverride& to) {
    if (const auto span = duration("for")) to.until = to.since + ceil_seconds(*span);
  }
  void policy(LiveOverride& to) { to.policy = in_.string().value_or(""); }
  void key(LiveOverride& to) { to.key = text("key", override_key_max); }
  void by(LiveOverride& to) { to.by = in_.string().value_or(""); }
  void reason(LiveOverride& to) { to.reason = text("reason", override_reason_max); }
  void since(LiveOverride& to) { to.since = time().value_or(0); }
  void until(LiveOverride& to) {
    if (!is_null()) to.until = time();
  }

  // Reads {"overrides": [...]}.
  std::vector<LiveOverride> list(std::span<const Member> members) {
    std::vector<LiveOverride> all;
    in_.open('{');
    while (in_.more('}')) {
      const auto name = in_.name();
      if (!name) break;
      if (*name != "overrides") {
        fail(in_.last(), "unknown member " + in_quotes(*name) + "; expected 'overrides'");
        break;
      }
      in_.open('[');
      while (in_.more(']')) {
        if (all.size() == live_overrides_max) {
          fail(in_.at(), "expected at most " + std::to_string(live_overrides_max) + " overrides");
          break;
        }
        read(all.emplace_back(), members);
      }
    }
    return all;
  }

  // Returns the first fault, if there is one.
  std::optional<OverrideTextFault> end() {
    in_.end();
    if (!fault_ && in_.fault()) {
      fault_ = {in_.fault()->at, "expected " + std::string(in_.fault()->expected)};
    }
    return std::move(fault_);
  }

 private:
  static std::string quota_words() {
    return "expected a quota of 0 to " + std::to_string(limit::Quota::units_max) +
           " units, or \"unlimited\"";
  }

  static std::string unknown(std::string_view name, std::span<const Member> members) {
    std::vector<std::string_view> names;
    for (const Member& member : members) names.push_back(member.name);
    const auto meant = nearest(name, names);
    return "unknown member " + in_quotes(name) +
           (meant ? "; did you mean " + in_quotes(*meant) + '?'
                  : "; expected " + alternatives(names));
  }

  void fail(std::size_t at, std::string what) {
    // A fault of the scanner is at an earlier byte.
    if (!fault_ && !in_.fault()) fault_ = {at, std::move(what)};
    in_.fail(at, "");
  }

  // Reads null if that is the next value.
  bool is_null() {
    if (!in_.sees('n')) return false;
    if (in_.word() != "null") fail(in_.last(), "expected null or a value");
    return true;
  }

  std::string text(std::string_view name, std::size_t most) {
    const auto value = in_.string();
    if (value && value->size() > most) {
      fail(in_.last(), std::string(name) + " has " + std::to_string(value->size()) +
                           " bytes; expected at most " + std::to_string(most));
    }
    return std::string(value.value_or(""));
  }

  std::optional<Nanos> duration(std::string_view name) {
    if (is_null()) return std::nullopt;
    const auto value = in_.string();
    if (!value) return std::nullopt;
    const auto span = parse_duration(*value);
    if (span) return *span;
    fail(in_.last(), std::string(name) + ' ' + in_quotes(*value) + ' ' + span.error());
    return std::nullopt;
  }

  std::optional<std::uint64_t> time() {
    const auto number = in_.number();
    if (!number) return std::nullopt;
    const auto value = whole_number<std::uint64_t>(*number);
    if (!value) fail(in_.last(), "expected a Unix time in whole seconds");
    return value;
  }

  JsonScanner in_;
  bool has_quota_ = false;
  std::optional<OverrideTextFault> fault_;
};

constexpr std::array<Reading::Member, 4> given_members = {
    Reading::Member{"quota", &Reading::quota}, Reading::Member{"window", &Reading::window},
    Reading::Member{"for", &Reading::lasts}, Reading::Member{"reason", &Reading::reason}};

constexpr std::array<Reading::Member, 8> file_members = {
    Reading::Member{"policy", &Reading::policy}, Reading::Member{"key", &Reading::key},
    Reading::Member{"quota", &Reading::quota},   Reading::Member{"window", &Reading::window},
    Reading::Member{"since", &Reading::since},   Reading::Member{"until", &Reading::until},
    Reading::Member{"by", &Reading::by},         Reading::Member{"reason", &Reading::reason}};

}  // namespace

void append_members(std::string& out, const LiveOverride& override) {
  append_text(out, R"("policy":)", override.policy);
  append_text(out, R"(,"key":)", override.key);
  out.append(R"(,"quota":)");
  if (override.quota) {
    append_json(out, *override.quota);
  } else {
    append_json(out, unlimited);
  }
  append_or_null(out, R"(,"window":)",
                 override.window ? std::optional(duration_text(*override.window)) : std::nullopt);
  out.append(R"(,"since":)");
  append_json(out, override.since);
  append_or_null(out, R"(,"until":)", override.until);
  append_text(out, R"(,"by":)", override.by);
  append_text(out, R"(,"reason":)", override.reason);
}

std::string override_file_text(const std::vector<LiveOverride>& overrides) {
  std::string out = R"({"overrides":[)";
  for (const LiveOverride& override : overrides) {
    out.append(&override == overrides.data() ? "\n{" : ",\n{");
    append_members(out, override);
    out.push_back('}');
  }
  out.append("\n]}\n");
  return out;
}

Result<std::vector<LiveOverride>, OverrideTextFault> read_override_file(std::string_view text) {
  // What an interrupted write leaves: it must not end what is in force.
  if (text.empty()) {
    return Failure<OverrideTextFault>(
        {0, "the file is empty; expected {\"overrides\":[]}, or no file"});
  }
  std::string strings;
  strings.reserve(text.size());  // no escape is shorter than the bytes that replace it
  Reading reading(text, strings);
  std::vector<LiveOverride> all = reading.list(file_members);
  if (auto fault = reading.end()) return Failure<OverrideTextFault>(*std::move(fault));
  return all;
}

Result<LiveOverride, OverrideTextFault> read_override(std::string_view text, std::uint64_t now) {
  std::string strings;
  strings.reserve(text.size());
  Reading reading(text, strings);
  LiveOverride override;
  override.since = now;
  reading.read(override, given_members);
  if (auto fault = reading.end()) return Failure<OverrideTextFault>(*std::move(fault));
  return override;
}

}  // namespace headgate::policy
