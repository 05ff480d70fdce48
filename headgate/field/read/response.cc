#include "headgate/field/read/response.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/field/date/http_date.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/read/draft_07_reader.h"
#include "headgate/field/read/field_value.h"
#include "headgate/field/read/limit_fields_reader.h"
#include "headgate/field/read/member_reader.h"
#include "headgate/field/read/policy_index.h"
#include "headgate/field/read/resources.h"
#include "headgate/field/read/suffixed_reader.h"
#include "headgate/field/retry_after.h"

namespace headgate::field {
namespace {

bool is_positive_age(std::string_view age) noexcept {
  age = trimmed(age);
  return age.find_first_not_of("0123456789") == std::string_view::npos &&
         age.find_first_not_of('0') != std::string_view::npos;
}

Member requests_member() {
  Member member;
  member.unit = default_unit;
  return member;
}

// Returns the limit in force, with the window of the first policy that has its quota, then the
// other policies.
std::vector<Member> members_of(const LimitFieldsReading& limit_fields) {
  std::vector<Member> members(1, requests_member());
  members[0].q = limit_fields.limit;
  members[0].r = limit_fields.remaining;
  members[0].t = limit_fields.reset;
  bool found = false;
  for (const QuotaPolicy& policy : limit_fields.policies) {
    if (!found && limit_fields.limit == policy.q) {
      found = true;
      members[0].w = policy.w;
      continue;
    }
    members.push_back(requests_member());
    members.back().q = policy.q;
    members.back().w = policy.w;
  }
  return members;
}

class ResponseReader {
 public:
  ResponseReader(std::span<const HeaderLine> headers, std::span<const HeaderLine> trailers,
                 std::optional<std::int64_t> now)
      : headers_(headers), trailers_(trailers), base_(time_base(headers, now)) {}

  ResponseView read() {
    const FieldValue age(headers_, "age");
    view_.cached = age.lines() > 0 && is_positive_age(age.first());
    retry_after();
    for (const std::string_view name : retry_after_ms_names) retry_after_ms(name);
    if (!view_.cached) {
      const bool found = current("ratelimit", "ratelimit-policy") || draft_07() || draft_03() ||
                         current("beta-ratelimit", "beta-ratelimit-policy") || vendors();
      if (!found) policies_alone();
    }
    std::sort(view_.ignored.begin(), view_.ignored.end(),
              [](const Ignored& a, const Ignored& b) { return a.name < b.name; });
    return std::move(view_);
  }

 private:
  void retry_after() {
    for (const HeaderLine& line : headers_) {
      if (!is_named(line, "retry-after")) continue;
      const auto wait = parse_retry_after(line.value, base_);
      if (!wait) {
        view_.retry_after.reset();
        const auto index = static_cast<std::size_t>(&line - headers_.data());
        view_.ignored.push_back(
            {"retry-after", "expected seconds, in digits, or a date", index, 0});
        return;
      }
      view_.retry_after = std::max(view_.retry_after.value_or(0), *wait);
    }
  }

  void retry_after_ms(std::string_view name) {
    std::optional<std::uint64_t> longest;
    for (const HeaderLine& line : headers_) {
      if (!is_named(line, name)) continue;
      const auto wait = parse_retry_after_ms(line.value);
      if (!wait) {
        const auto index = static_cast<std::size_t>(&line - headers_.data());
        view_.ignored.push_back({std::string(name), "expected milliseconds >= 0", index, 0});
        return;
      }
      longest = std::max(longest.value_or(0), *wait);
    }
    if (longest) view_.retry_after = std::max(view_.retry_after.value_or(0), *longest);
  }

  Reading read_field(FieldKind kind, std::string_view name, const FieldValue& field) {
    if (field.lines() == 0) return {};
    Reading reading = read_members(kind, field.text());
    if (reading.shape == Shape::malformed) ignore(view_.ignored, name, field, reading.error);
    return reading;
  }

  bool current(std::string_view limit_name, std::string_view policy_name) {
    const FieldValue limit_field(headers_, limit_name);
    const FieldValue policy_field(headers_, policy_name);
    Reading limits = read_field(FieldKind::ratelimit, limit_name, limit_field);
    Reading policies = read_field(FieldKind::policy, policy_name, policy_field);
    if (limits.shape == Shape::current) {
      return set_members(Source::ratelimit, limit_name,
                         join(std::move(limits.members), std::move(policies.members)));
    }
    if (policies.shape == Shape::current && alone_.empty()) {
      alone_ = join({}, std::move(policies.members));
      alone_prefix_ = limit_name;
    }
    if (limit_name != "ratelimit") return false;
    if (limits.shape == Shape::legacy) draft_07_ = read_draft_07(limit_field.text()).value();
    if (policies.shape == Shape::legacy) {
      policies_ = read_quota_policies(policy_field.text()).value();
    }
    return false;
  }

  bool draft_07() {
    if (!draft_07_) return false;
    const LimitFieldsReading limit_fields{draft_07_->limit, draft_07_->remaining, draft_07_->reset,
                                          policies_};
    return set_members(Source::draft_07, "ratelimit", members_of(limit_fields));
  }

  bool draft_03() {
    std::vector<HeaderLine> all;
    std::span<const HeaderLine> lines = headers_;
    if (!trailers_.empty()) {
      all.assign(headers_.begin(), headers_.end());
      all.insert(all.end(), trailers_.begin(), trailers_.end());
      lines = all;
    }
    LimitFieldsReading limit_fields =
        read_limit_fields(lines, "ratelimit-", Grammar::draft, base_, view_.ignored);
    if (!limit_fields.has_limit()) return false;
    limit_fields.policies.insert(limit_fields.policies.end(), policies_.begin(), policies_.end());
    return set_members(Source::draft_03, "ratelimit-", members_of(limit_fields));
  }

  bool vendors() {
    return std::any_of(std::begin(vendor_prefixes), std::end(vendor_prefixes),
                       [&](std::string_view prefix) { return vendor(prefix); });
  }

  bool vendor(std::string_view prefix) {
    const LimitFieldsReading limit_fields =
        read_limit_fields(headers_, prefix, Grammar::wild, base_, view_.ignored);
    std::vector<Member> members;
    if (limit_fields.has_limit()) members = members_of(limit_fields);
    const auto append = [&](std::vector<Member> more) {
      std::move(more.begin(), more.end(), std::back_inserter(members));
    };
    append(read_suffixed(headers_, prefix, base_, view_.ignored));
    if (resources_name.starts_with(prefix)) append(read_resources(headers_, view_.ignored));
    return !members.empty() && set_members(Source::x_ratelimit, prefix, std::move(members));
  }

  void policies_alone() {
    if (!alone_.empty()) return set_view(Source::ratelimit, alone_prefix_, std::move(alone_));
    if (policies_.empty()) return;
    LimitFieldsReading limit_fields;
    limit_fields.policies = std::move(policies_);
    std::vector<Member> members = members_of(limit_fields);
    members.erase(members.begin());
    set_view(Source::draft_07, "ratelimit", std::move(members));
  }

  // Returns false if these members do not say what is left, and there are policies alone, which say
  // more.
  bool set_members(Source source, std::string_view prefix, std::vector<Member> members) {
    const auto has_left = [](const Member& member) { return member.r.has_value(); };
    if (!alone_.empty() && std::none_of(members.begin(), members.end(), has_left)) return false;
    set_view(source, prefix, std::move(members));
    return true;
  }

  void set_view(Source source, std::string_view prefix, std::vector<Member> members) {
    view_.source = source;
    view_.prefix = prefix;
    view_.members = std::move(members);
  }

  std::span<const HeaderLine> headers_;
  std::span<const HeaderLine> trailers_;
  std::optional<std::int64_t> base_;
  std::optional<Draft07> draft_07_;
  std::vector<QuotaPolicy> policies_;  // of RateLimit-Policy as a List of Integers
  std::vector<Member> alone_;          // of a policy field without its RateLimit
  std::string_view alone_prefix_;
  ResponseView view_;
};

}  // namespace

std::string_view name_of(Source source) noexcept {
  switch (source) {
    case Source::ratelimit:
      return "ratelimit";
    case Source::draft_07:
      return "draft-07";
    case Source::draft_03:
      return "draft-03";
    case Source::x_ratelimit:
      return "x-ratelimit";
    case Source::none:
      break;
  }
  return "none";
}

std::optional<std::int64_t> time_base(std::span<const HeaderLine> headers,
                                      std::optional<std::int64_t> now) noexcept {
  for (const HeaderLine& line : headers) {
    if (!is_named(line, "date")) continue;
    const auto date = parse_http_date(line.value, now.value_or(default_epoch_near));
    return date ? date : now;
  }
  return now;
}

ResponseView read_response(std::span<const HeaderLine> headers, std::optional<std::int64_t> now,
                           std::span<const HeaderLine> trailers) {
  return ResponseReader(headers, trailers, now).read();
}

}  // namespace headgate::field
