#include "headgate/cli/explain/explanation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "headgate/base/ascii.h"
#include "headgate/cli/explain/advice.h"
#include "headgate/cli/explain/member_words.h"
#include "headgate/cli/explain/rate_limit_field.h"
#include "headgate/cli/printable.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/read/draft_07_reader.h"
#include "headgate/field/read/field_value.h"
#include "headgate/field/read/limit_fields_reader.h"
#include "headgate/field/read/member_reader.h"
#include "headgate/field/read/plain_number.h"
#include "headgate/field/read/quota_list_reader.h"
#include "headgate/field/read/reset.h"
#include "headgate/field/read/resources.h"
#include "headgate/field/read/response.h"
#include "headgate/field/read/suffixed_reader.h"
#include "headgate/field/retry_after.h"

namespace headgate::cli {
namespace {

using field::Member;
using field::Reset;
using field::ResetForm;
using field::Shape;
using field::Source;
using Kind = RateLimitField::Kind;

constexpr std::string_view indent = "    ";

// Returns the malformed fields of all dialects, also of those that are not read because a better
// dialect is present.
field::IgnoredList faults_of(const std::vector<field::HeaderLine>& headers, std::int64_t base) {
  field::IgnoredList faults;
  for (const std::string_view name :
       {"ratelimit", "ratelimit-policy", "beta-ratelimit", "beta-ratelimit-policy"}) {
    const auto kind =
        name.ends_with("-policy") ? field::FieldKind::policy : field::FieldKind::ratelimit;
    const field::FieldValue value(headers, name);
    const field::Reading reading = read_members(kind, value.text());
    if (reading.shape == Shape::malformed) ignore(faults, name, value, reading.error);
  }
  static_cast<void>(read_limit_fields(headers, "ratelimit-", field::Grammar::draft, base, faults));
  for (const std::string_view prefix : field::vendor_prefixes) {
    static_cast<void>(read_limit_fields(headers, prefix, field::Grammar::wild, base, faults));
    static_cast<void>(read_suffixed(headers, prefix, base, faults));
  }
  static_cast<void>(field::read_resources(headers, faults));
  return faults;
}

class Explanation {
 public:
  Explanation(const HeaderSection& section, std::int64_t now)
      : section_(section),
        headers_(section.headers()),
        view_(field::read_response(headers_, now)),
        base_(*field::time_base(headers_, now)),
        dated_(field::time_base(headers_, {}).has_value()),
        faults_(faults_of(headers_, base_)) {
    for (const field::Ignored& ignored : view_.ignored) {
      if (ignored.name == "retry-after" || field::is_retry_after_ms(ignored.name)) {
        faults_.push_back(ignored);
      }
    }
    for (std::size_t i = 0; i < headers_.size(); ++i) {
      seen_.try_emplace(lowered(headers_[i].name), Seen{i, nullptr}).first->second.last = i;
      const RateLimitField field = rate_limit_field(headers_[i].name);
      if (field.kind == Kind::suffixed) suffixed_.try_emplace(part_of(field, i), i);
    }
    for (const field::Ignored& fault : faults_) seen_.at(fault.name).fault = &fault;
  }

  std::string text() && {
    opening();
    for (std::size_t i = 0; i < headers_.size(); ++i) line(i);
    members();
    out_ += advice(view_, section_.status, !faults_.empty());
    return std::move(out_);
  }

 private:
  // The index of the last line of one field, and the fault in its lines, if any.
  struct Seen {
    std::size_t last;
    const field::Ignored* fault;
  };

  // What a field with a suffix is about: its prefix, its part and its suffix in lower case.
  using SuffixedPart = std::tuple<std::string_view, field::SuffixedName::Part, std::string>;
  SuffixedPart part_of(const RateLimitField& field, std::size_t i) const {
    const auto name = *field::suffixed_name(headers_[i].name, field.prefix);
    return {field.prefix, name.part, lowered(name.suffix)};
  }

  void say(const std::string& words) { out_.append(indent).append(words).append(1, '\n'); }

  void opening() {
    if (section_.status_line.empty()) return;
    out_ += excerpt(section_.status_line).text;
    if (section_.before > 0) {
      out_ += "   (the last of " + std::to_string(section_.before + 1) + " header sections)";
    }
    out_ += "\n\n";
  }

  void line(std::size_t i) {
    const field::HeaderLine& line = headers_[i];
    const RateLimitField field = rate_limit_field(line.name);
    if (field.kind == Kind::other || (field.kind == Kind::age && !view_.cached)) return;
    const field::Ignored* const fault = seen_.at(lowered(line.name)).fault;
    const bool faulty = fault != nullptr;
    const bool here = faulty && fault->line == i;
    const Excerpt value = excerpt(line.value, here ? fault->offset : 0);
    const std::string start = excerpt(line.name).text + ": ";
    out_ += start + value.text + '\n';
    if (here) {
      out_.append(start.size() + value.column, ' ').append("^\n");
      const std::string place =
          line.value.empty() ? "because it is empty"
          : fault->offset >= line.value.size()
              ? "at the end of the value"
              : "at byte " + std::to_string(fault->offset + 1) + " of the value";
      say("malformed " + place + ": " + fault->expected);
      say("so this field is ignored as a whole");
    } else if (faulty) {
      say("ignored, because another line of this field is malformed");
    } else {
      meaning(field, i);
    }
    out_ += '\n';
  }

  void meaning(const RateLimitField& field, std::size_t i) {
    const field::HeaderLine& line = headers_[i];
    switch (field.kind) {
      case Kind::other:
        return;
      case Kind::unread:
        return say("not a field that any dialect knows: not read");
      case Kind::age:
        return say("the response comes from a cache: its rate limits are those of another request");
      case Kind::retry_after:
        return say("wait " + seconds_in_words(*field::parse_retry_after(line.value, base_)) +
                   " before the next request");
      case Kind::retry_after_ms:
        return say("wait " + seconds_in_words(*field::parse_retry_after_ms(line.value)) +
                   " before the next request");
      case Kind::ratelimit:
      case Kind::policy:
        return members_of_field(field, i);
      case Kind::resources:
        resources(line.value);
        break;
      case Kind::suffixed:
        if (const std::string_view first = headers_[suffixed_.at(part_of(field, i))].name;
            !equal_ignoring_case(line.name, first)) {
          return say("not used: " + excerpt(first).text + " comes first");
        }
        suffixed(*field::suffixed_name(line.name, field.prefix), line.value);
        break;
      default:
        part(field, line.value);
    }
    if (field.prefix != view_.prefix) not_used();
  }

  // RateLimit or RateLimit-Policy in either form: explained once, at their last line.
  void members_of_field(const RateLimitField& field, std::size_t i) {
    const bool limits = field.kind == Kind::ratelimit;
    const std::string lower = std::string(field.prefix) + (limits ? "" : "-policy");
    if (i != seen_.at(lower).last) return say("goes on in another line");
    const field::FieldValue value(headers_, lower);
    const auto kind = limits ? field::FieldKind::ratelimit : field::FieldKind::policy;
    const field::Reading reading = read_members(kind, value.text());
    if (reading.shape == Shape::empty) return say("empty: the same as no field");
    for (const Member& member : reading.members) {
      say(limits
              ? name_in_words(member) + ": " + left_in_words(member)
              : name_in_words(member) + ": " + quota_in_words(*member.q, *member.unit, member.w));
    }
    if (reading.shape == Shape::legacy) legacy(kind, value.text());

    bool used = field.prefix == view_.prefix && view_.source == Source::ratelimit;
    if (reading.shape == Shape::legacy) {
      used = field.prefix == "ratelimit" &&
             (view_.source == Source::draft_07 || (!limits && view_.source == Source::draft_03));
    }
    if (!used) not_used();
  }

  void legacy(field::FieldKind kind, std::string_view value) {
    if (kind == field::FieldKind::ratelimit) {
      const field::Draft07 limit = *field::read_draft_07(value);
      Member member;
      member.q = limit.limit;
      member.r = limit.remaining;
      member.t = limit.reset;
      member.unit = field::default_unit;
      return say(left_in_words(member) + " (the form of draft 07)");
    }
    const auto policies = *field::read_quota_policies(value);
    for (const field::QuotaPolicy& policy : policies) {
      say(quota_in_words(policy.q, field::default_unit, policy.w) +
          " (the form of drafts 06 and 07)");
    }
  }

  // One of the fields limit, remaining, used and reset.
  void part(const RateLimitField& field, std::string_view value) {
    const auto number = field::parse_plain_number(value);
    switch (field.kind) {
      case Kind::limit: {
        const auto limit = field::read_limit_in_force(value);
        say("the quota is " +
            amount_in_words(limit ? limit->q : number->floor(), field::default_unit));
        if (!limit) return;
        for (const field::QuotaPolicy& policy : limit->policies) {
          say("a policy: " + quota_in_words(policy.q, field::default_unit, policy.w));
        }
        return;
      }
      case Kind::remaining: {
        const std::uint64_t r =
            field.prefix == "ratelimit-" ? *field::read_integer(value) : number->floor();
        return say(r == 0 ? "nothing is left" : amount_in_words(r, field::default_unit) + " left");
      }
      case Kind::used:
        return say(number ? amount_in_words(number->floor(), field::default_unit) + " used"
                          : "not a number >= 0: not read");
      case Kind::reset_after:
        return say(number
                       ? "a reset in " + seconds_in_words(*field::parse_reset(value, base_).seconds)
                       : "not a number >= 0: not read");
      default:
        if (field.prefix != "ratelimit-") return reset(value);
        return reset(std::to_string(field::read_integer(value).value_or(0)));
    }
  }

  void suffixed(const field::SuffixedName& suffixed, std::string_view value) {
    const std::string suffix = lowered(suffixed.suffix);
    const auto window = field::window_of_suffix(suffix);
    const std::string unit = window ? std::string(field::default_unit) : suffix;
    const auto number = field::parse_plain_number(value);
    switch (suffixed.part) {
      case field::SuffixedName::Part::limit:
        return say('"' + suffix + "\": the quota is " +
                   quota_in_words(number->floor(), unit, window));
      case field::SuffixedName::Part::remaining:
        return say('"' + suffix + "\": " +
                   (number->floor() == 0 ? "nothing is left"
                                         : amount_in_words(number->floor(), unit) + " left"));
      case field::SuffixedName::Part::reset:
        return reset(value);
    }
  }

  void resources(std::string_view value) {
    const auto members = field::parse_resources(value);
    for (const Member& member : *members) {
      say(name_in_words(member) + ": " + left_in_words(member));
    }
  }

  void reset(std::string_view value) {
    const Reset reset = field::parse_reset(value, base_);
    if (!reset.seconds) return say("a reset in a form that is not read");
    const std::string span = seconds_in_words(*reset.seconds);
    std::string form;
    switch (reset.form) {
      case ResetForm::unix_seconds:
        form = "a Unix time: ";
        break;
      case ResetForm::unix_milliseconds:
        form = "a Unix time in milliseconds: ";
        break;
      case ResetForm::http_date:
      case ResetForm::iso_date:
        form = "a date: ";
        break;
      default:
        return say("a reset in " + span);
    }
    say(form +
        (*reset.seconds == 0 ? "it has passed" : span + (dated_ ? " after Date" : " from now")));
  }

  void not_used() {
    if (view_.cached) return say("not used: the response comes from a cache");
    if (view_.source == Source::none) {
      return say("not used: neither a limit nor what is left of it is told");
    }
    say("not used: " + std::string(fields_of_prefix(view_.prefix)) + " wins");
  }

  void members() {
    if (view_.members.empty()) return;
    out_ += "What counts: " + std::string(fields_of_prefix(view_.prefix)) + ", the dialect \"" +
            std::string(name_of(view_.source)) + "\"\n";
    for (const Member& member : view_.members) say(member_in_words(member));
    out_ += '\n';
  }

  const HeaderSection& section_;
  std::vector<field::HeaderLine> headers_;
  field::ResponseView view_;
  std::int64_t base_;
  bool dated_;
  field::IgnoredList faults_;
  std::map<std::string, Seen> seen_;              // by name in lower case
  std::map<SuffixedPart, std::size_t> suffixed_;  // the index of the first line
  std::string out_;
};

}  // namespace

std::string explanation(const HeaderSection& section, std::int64_t now) {
  return Explanation(section, now).text();
}

}  // namespace headgate::cli
