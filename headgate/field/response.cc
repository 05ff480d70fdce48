#include "headgate/field/response.h"

#include <algorithm>
#include <map>
#include <utility>

#include "headgate/field/http_date.h"
#include "headgate/field/member_reader.h"
#include "headgate/field/retry_after.h"
#include "headgate/field/whitespace.h"

namespace headgate::field {
namespace {

using Lines = std::vector<std::string_view>;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

Lines lines_of(std::span<const HeaderLine> headers, std::string_view lower_name) {
  Lines lines;
  for (const HeaderLine& line : headers) {
    if (std::equal(line.name.begin(), line.name.end(), lower_name.begin(), lower_name.end(),
                   [](char a, char b) { return lower(a) == b; })) {
      lines.push_back(line.value);
    }
  }
  return lines;
}

bool is_positive_age(std::string_view age) noexcept {
  age = without_outer_whitespace(age);
  return age.find_first_not_of("0123456789") == std::string_view::npos &&
         age.find_first_not_of('0') != std::string_view::npos;
}

// Policies by name and partition key, the first of equal ones.
class PolicyIndex {
 public:
  explicit PolicyIndex(const std::vector<Member>& policies) {
    for (std::size_t i = 0; i < policies.size(); ++i) {
      Named& named = by_name_.try_emplace(*policies[i].policy, Named{i, {}, {}}).first->second;
      if (policies[i].pk) {
        named.by_key.try_emplace(*policies[i].pk, i);
      } else if (!named.unkeyed) {
        named.unkeyed = i;
      }
    }
  }

  // The policy of a RateLimit member: best the one with the same partition key; where only one
  // side has a key, the name decides.
  [[nodiscard]] std::optional<std::size_t> find(const Member& limit) const {
    const auto found = by_name_.find(*limit.policy);
    if (found == by_name_.end()) return {};
    const Named& named = found->second;
    if (!limit.pk) return named.unkeyed ? named.unkeyed : named.first;
    const auto keyed = named.by_key.find(*limit.pk);
    return keyed != named.by_key.end() ? keyed->second : named.unkeyed;
  }

 private:
  struct Named {
    std::size_t first;
    std::optional<std::size_t> unkeyed;
    std::map<std::string_view, std::size_t> by_key;
  };
  std::map<std::string_view, Named> by_name_;
};

std::vector<Member> join(std::vector<Member> limits, std::vector<Member> policies) {
  const PolicyIndex index(policies);
  std::vector<bool> joined(policies.size());
  for (Member& limit : limits) {
    const auto i = index.find(limit);
    if (!i) continue;
    const Member& policy = policies[*i];
    joined[*i] = true;
    limit.q = policy.q;
    limit.unit = policy.unit;
    limit.w = policy.w;
    if (!limit.pk) limit.pk = policy.pk;
  }
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (!joined[i]) limits.push_back(std::move(policies[i]));
  }
  return limits;
}

void read_retry_after(std::span<const HeaderLine> headers, std::optional<std::int64_t> now,
                      ResponseView& view) {
  std::optional<std::int64_t> base = now;
  const Lines date = lines_of(headers, "date");
  if (!date.empty()) {
    if (const auto made = parse_http_date(date[0], now.value_or(default_epoch_near))) base = made;
  }
  for (const std::string_view line : lines_of(headers, "retry-after")) {
    const auto wait = parse_retry_after(line, base);
    if (!wait) {
      view.retry_after.reset();
      view.ignored.emplace_back("retry-after");
      return;
    }
    view.retry_after = std::max(view.retry_after.value_or(0), *wait);
  }
}

}  // namespace

ResponseView read_response(std::span<const HeaderLine> headers, std::optional<std::int64_t> now) {
  ResponseView view;
  const Lines age = lines_of(headers, "age");
  view.cached = !age.empty() && is_positive_age(age[0]);
  if (!view.cached) {
    Reading limits = read_members(FieldKind::ratelimit, lines_of(headers, "ratelimit"));
    Reading policies = read_members(FieldKind::policy, lines_of(headers, "ratelimit-policy"));
    if (limits.shape == Shape::malformed) view.ignored.emplace_back("ratelimit");
    if (policies.shape == Shape::malformed) view.ignored.emplace_back("ratelimit-policy");
    if (limits.shape == Shape::current || policies.shape == Shape::current) {
      view.source = Source::ratelimit;
      view.members = join(std::move(limits.members), std::move(policies.members));
    }
  }
  read_retry_after(headers, now, view);
  std::sort(view.ignored.begin(), view.ignored.end());
  return view;
}

}  // namespace headgate::field
