#include "headgate/gate/field_writer.h"

#include <cassert>
#include <chrono>
#include <utility>

#include "headgate/field/closest.h"
#include "headgate/field/draft_07.h"
#include "headgate/field/limit_fields.h"
#include "headgate/field/problem.h"
#include "headgate/field/quota_policy.h"
#include "headgate/field/retry_after.h"

namespace headgate::gate {
namespace {

// Returns the text that `write(Writer&)` writes. The buffer has room for `names`, escaped (each
// character takes two bytes at most), and a few numbers.
template <class Write>
std::string text(std::string_view names, Write write) {
  std::string room(2 * names.size() + 128, '\0');
  Writer out(room);
  [[maybe_unused]] const bool written = write(out);
  assert(written);  // names and units were checked when the policy file was read
  return std::string(out.text());
}

std::optional<std::uint64_t> window_of(const policy::Policy& policy, const limit::Quota& quota) {
  if (policy.terms.algorithm == limit::Algorithm::concurrency) return std::nullopt;
  return ceil_seconds(quota.window);
}

std::optional<std::uint64_t> t_of(const Item& item) noexcept {
  if (item.reset == limit::Decision::no_reset) return std::nullopt;
  return std::min(item.reset, field_integer_max);
}

// Unix time [s], rounded up: the response's Date field is rounded down.
std::uint64_t unix_now() noexcept {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(since).count());
}

// The names of all fields that responses may have.
std::string exposed_names(std::span<const field::Form> forms) {
  std::string names;
  for (const field::Form form : forms) {
    for (const std::string_view name : field::field_names(form)) {
      names += name;
      names += ", ";
    }
  }
  return names += field::retry_after_name;
}

// Whether `a` is reported rather than `b` if only one of them can be. Denials come first, the one
// with the longest wait before others, because Retry-After reports it, too. Among admissions, the
// one closest to exhaustion comes first.
bool precedes(const Item& a, const Item& b) noexcept {
  if (a.denied != b.denied) return a.denied;
  if (a.denied && a.reset != b.reset) return a.reset > b.reset;  // no_reset: waiting never helps
  return field::closer(a.remaining, t_of(a), b.remaining, t_of(b));
}

}  // namespace

// Adds lines to a response's Lines, and removes those of a form that does not fit.
class FieldWriter::LineWriter {
 public:
  LineWriter(Writer& out_text, Lines& to) noexcept : out(out_text), lines(to) {}

  // Adds a field whose value `write` puts into `out`.
  template <class Write>
  void add(std::string_view name, Write write) noexcept {
    const std::size_t from = out.text().size();
    write();
    lines.lines_[lines.count_++] = {name, out.text().substr(from)};
  }
  void add_constant(std::string_view name, std::string_view value) noexcept {
    lines.lines_[lines.count_++] = {name, value, true};
  }
  void add_number(std::string_view name, std::uint64_t value) noexcept {
    add(name, [&] { out.put_decimal(value); });
  }

  void require(bool written) noexcept { good_ = good_ && written; }
  void leave_out() noexcept { ++lines.left_out_; }

  // Keeps the fields of one form, which `write` adds, if all of them fit; otherwise removes them.
  template <class Write>
  void add_form(Write write) noexcept {
    const Writer::Mark before = out.mark();
    const std::size_t count = lines.count_;
    good_ = true;
    write();
    if (good_ && !out.overflow()) return;
    out.rewind(before);
    lines.left_out_ += lines.count_ - count;
    lines.count_ = count;
  }

  Writer& out;
  Lines& lines;

 private:
  bool good_ = true;
};

FieldWriter::FieldWriter(const policy::PolicySet& policies)
    : partition_key_(policies.settings().partition_key),
      forms_(policies.settings().fields),
      unix_reset_(policies.settings().unix_reset),
      upstream_prefix_(policies.settings().upstream_prefix) {
  if (policies.settings().expose_headers) exposed_ = exposed_names(forms_);
  std::vector<std::string_view> units{field::default_unit};
  for (const policy::Policy& policy : policies.policies()) {
    PolicyTexts& mine = policies_.emplace_back();
    names_.emplace_back(policy.title());
    const std::string_view unit =
        field::is_default_unit(policy.unit) ? field::default_unit : policy.unit;
    const auto known = std::find(units.begin(), units.end(), unit);
    mine.unit = static_cast<std::uint16_t>(known - units.begin());
    if (known == units.end()) units.push_back(unit);
    for (const policy::Grant& grant : policy.grants) {
      GrantTexts& made = mine.grants.emplace_back(GrantTexts{&policy, &grant.quota, {}, {}, {}});
      if (grant.unlimited) continue;  // never reported
      const std::string name(grant.title.empty() ? policy.title() : grant.title);
      made.quoted = text(name, [&](Writer& out) { return field::write_quoted_name(out, name); });
      const std::uint64_t q = grant.quota.units;
      const std::optional<std::uint64_t> w = window_of(policy, grant.quota);
      made.member = text(name + policy.unit, [&](Writer& out) {
        return field::write_policy_member(out, name, q, policy.unit, w, {});
      });
      if (mine.unit != 0) continue;
      made.older = std::to_string(q);
      made.limit_length = made.older.size();
      if (w) {
        made.older += field::member_separator;
        made.older += text({}, [&](Writer& out) { return field::write_quota_policy(out, q, *w); });
      }
    }
    if (!own_members_.empty()) own_members_ += field::member_separator;
    mine.member_begin = own_members_.size();
    own_members_ += mine.grants.front().member;
  }
}

Lines FieldWriter::write(std::span<const Item> items, Writer& out) const noexcept {
  Lines lines;
  if (items.empty()) return lines;
  LineWriter writer(out, lines);
  for (const field::Form form : forms_) {
    writer.add_form([&] {
      if (form != field::Form::ratelimit) return add_older(form, items, writer);
      add_ratelimit_policy(items, {}, writer);
      add_ratelimit(items, {}, writer);
    });
  }
  add_exposure(writer);
  return lines;
}

Lines FieldWriter::write_beside(const field::Upstream& upstream, std::span<const Item> items,
                                Writer& out) const noexcept {
  Lines lines;
  if (items.empty()) return lines;
  LineWriter writer(out, lines);
  for (const field::Form form : forms_) {
    if (!upstream.leaves(form)) continue;
    writer.add_form([&] {
      if (form != field::Form::ratelimit) return add_older(form, items, writer);
      add_beside(upstream, items, writer);
    });
  }
  add_exposure(writer);
  return lines;
}

// An upstream's line of this name stays: browsers join the lines.
void FieldWriter::add_exposure(LineWriter& writer) const noexcept {
  if (!exposed_.empty()) writer.add_constant(field::expose_headers_name, exposed_);
}

// Adds the members next to the upstream's. A member whose name the upstream uses, too, gets a new
// name.
void FieldWriter::add_beside(const field::Upstream& upstream, std::span<const Item> items,
                             LineWriter& writer) const noexcept {
  std::array<Item, policy::policies_per_request_max> shown;
  std::array<std::string, policy::policies_per_request_max> new_names;
  std::array<std::string_view, policy::policies_per_request_max> renames;
  std::size_t count = 0;
  for (const Item& item : items) {
    const std::string_view name = names_[item.policy];
    if (upstream.has(name, pk(item))) {
      std::optional<std::string> free =
          upstream.free_name(name, pk(item), upstream_prefix_, names_);
      if (!free) {
        writer.leave_out();
        continue;
      }
      new_names[count] = *std::move(free);
      renames[count] = new_names[count];
    }
    shown[count++] = item;
  }
  if (count == 0) return;
  const std::span<const Item> kept = std::span(shown).first(count);
  const Renames renamed = std::span(renames).first(count);
  if (upstream.policy() != field::Treatment::keep) add_ratelimit_policy(kept, renamed, writer);
  if (upstream.ratelimit() != field::Treatment::keep) add_ratelimit(kept, renamed, writer);
}

void FieldWriter::put_name(const Item& item, std::string_view rename,
                           LineWriter& writer) const noexcept {
  if (rename.empty()) {
    writer.out.put(texts(item).quoted);
  } else {
    writer.require(field::write_quoted_name(writer.out, rename));
  }
}

// `"burst";r=99;t=60, "daily";r=4999;t=86383`
void FieldWriter::add_ratelimit(std::span<const Item> items, Renames renames,
                                LineWriter& writer) const noexcept {
  writer.add(field::ratelimit_name, [&] {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) writer.out.put(field::member_separator);
      put_name(items[i], renames.empty() ? std::string_view() : renames[i], writer);
      writer.require(field::write_limit_parameters(writer.out, items[i].remaining, t_of(items[i]),
                                                   pk(items[i])));
    }
  });
}

// Returns the value of RateLimit-Policy for these items if it was prepared, and "" otherwise.
std::string_view FieldWriter::known_policies(std::span<const Item> items) const noexcept {
  if (partition_key_ != policy::PartitionKey::omit) return {};
  if (items.size() == 1) return texts(items[0]).member;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].grant != 0 || items[i].policy != items[0].policy + i) return {};
  }
  const PolicyTexts& last = policies_[items.back().policy];
  const std::size_t begin = policies_[items.front().policy].member_begin;
  const std::size_t end = last.member_begin + last.grants.front().member.size();
  return std::string_view(own_members_).substr(begin, end - begin);
}

// `"burst";q=100;w=60, "daily";q=5000;w=86400`
void FieldWriter::add_ratelimit_policy(std::span<const Item> items, Renames renames,
                                       LineWriter& writer) const noexcept {
  if (renames.empty()) {
    const std::string_view known = known_policies(items);
    if (!known.empty()) return writer.add_constant(field::policy_name, known);
  }
  writer.add(field::policy_name, [&] {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const GrantTexts& own = texts(items[i]);
      if (i > 0) writer.out.put(field::member_separator);
      put_name(items[i], renames.empty() ? std::string_view() : renames[i], writer);
      if (const auto bytes = pk(items[i])) {
        writer.require(field::write_policy_parameters(writer.out, own.quota->units,
                                                      own.policy->unit,
                                                      window_of(*own.policy, *own.quota), bytes));
      } else {
        writer.out.put(std::string_view(own.member).substr(own.quoted.size()));
      }
    }
  });
}

FieldWriter::OlderChoice FieldWriter::choose_older(std::span<const Item> items) const noexcept {
  OlderChoice choice;
  for (const Item& item : items) {
    if (policies_[item.policy].unit != 0) continue;
    ++choice.limits;
    if (choice.item == nullptr || precedes(item, *choice.item)) choice.item = &item;
    const std::string_view quota_policy = texts(item).quota_policy();
    if (quota_policy.empty()) continue;
    ++choice.quota_policies;
    choice.any_quota_policy = quota_policy;
  }
  return choice;
}

void FieldWriter::add_older(field::Form form, std::span<const Item> items,
                            LineWriter& writer) const noexcept {
  const OlderChoice choice = choose_older(items);
  if (choice.item == nullptr) return;
  const Item& item = *choice.item;
  const std::optional<std::uint64_t> t = t_of(item);
  if (!t && form != field::Form::x_ratelimit) return;  // the drafts require a reset
  const GrantTexts& limit = texts(item);
  switch (form) {
    case field::Form::ratelimit:
      assert(false);  // not an older form
      return;
    case field::Form::draft_07:
      add_quota_policies(choice, items, writer);
      writer.add(field::ratelimit_name, [&] {
        writer.require(field::write_draft_07(writer.out, limit.quota->units, item.remaining, *t));
      });
      return;
    case field::Form::draft_06:
      add_quota_policies(choice, items, writer);
      writer.add_constant(field::draft_limit_fields.limit, limit.limit());
      add_remaining_and_reset(field::draft_limit_fields, item, 0, writer);
      return;
    case field::Form::draft_03:
      if (choice.limits == 1) {
        writer.add_constant(field::draft_limit_fields.limit, limit.older);
      } else {
        writer.add(field::draft_limit_fields.limit, [&] {
          writer.out.put(limit.limit());
          put_quota_policies(items, field::member_separator, writer);
        });
      }
      add_remaining_and_reset(field::draft_limit_fields, item, 0, writer);
      return;
    case field::Form::x_ratelimit:
      writer.add_constant(field::x_limit_fields.limit, limit.limit());
      add_remaining_and_reset(field::x_limit_fields, item, unix_reset_ ? unix_now() : 0, writer);
      return;
  }
}

// `100;w=60, 5000;w=86400`, after `separator`.
void FieldWriter::put_quota_policies(std::span<const Item> items, std::string_view separator,
                                     LineWriter& writer) const noexcept {
  for (const Item& item : items) {
    const std::string_view quota_policy = texts(item).quota_policy();
    if (quota_policy.empty()) continue;
    writer.out.put(separator);
    writer.out.put(quota_policy);
    separator = field::member_separator;
  }
}

// RateLimit-Policy of draft-06 and draft-07.
void FieldWriter::add_quota_policies(const OlderChoice& choice, std::span<const Item> items,
                                     LineWriter& writer) const noexcept {
  if (choice.quota_policies == 1) {
    writer.add_constant(field::policy_name, choice.any_quota_policy);
  } else if (choice.quota_policies > 1) {
    writer.add(field::policy_name, [&] { put_quota_policies(items, "", writer); });
  }
}

// `origin` [s] is added to the reset.
void FieldWriter::add_remaining_and_reset(const field::LimitFields& names, const Item& item,
                                          std::uint64_t origin, LineWriter& writer) noexcept {
  writer.add_number(names.remaining, item.remaining);
  if (const auto t = t_of(item)) {
    writer.add_number(names.reset, origin + std::min(*t, field::limit_fields_reset_max));
  }
}

bool FieldWriter::write_problem(const Verdict& verdict, Writer& out) const noexcept {
  if (verdict.refusal != policy::Refusal::none) return false;
  std::array<std::string_view, policy::policies_per_request_max> names;
  std::size_t count = 0;
  for (const policy::Policy* policy : verdict.violated) names[count++] = policy->title();
  return field::write_problem(out,
                              verdict.is_outage ? field::Problem::temporary_reduced_capacity
                                                : field::Problem::quota_exceeded,
                              verdict.status(), std::span(names).first(count));
}

std::size_t FieldWriter::keep_closest(std::span<Item> items) const noexcept {
  const auto unit_of = [&](const Item& item) { return policies_[item.policy].unit; };
  std::array<const Item*, policy::policies_per_request_max> closest;  // of each unit
  std::size_t units = 0;
  for (const Item& item : items) {
    std::size_t i = 0;
    while (i < units && unit_of(*closest[i]) != unit_of(item)) ++i;
    if (i == units)
      ++units;
    else if (!precedes(item, *closest[i]))
      continue;
    closest[i] = &item;
  }
  std::sort(closest.begin(), closest.begin() + static_cast<std::ptrdiff_t>(units));
  for (std::size_t i = 0; i < units; ++i) items[i] = *closest[i];
  return units;
}

std::optional<std::string_view> FieldWriter::pk(const Item& item) const noexcept {
  if (partition_key_ == policy::PartitionKey::omit) return std::nullopt;
  return item.pk;
}

}  // namespace headgate::gate
