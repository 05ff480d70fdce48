// Writes decisions as response fields and as problem details.
//
//   std::array<char, 16384> room;
//   Writer out(room);
//   for (const Line& line : writer.write(verdict.items, out)) response.add(line.name, line.value);
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/writer.h"
#include "headgate/field/form.h"
#include "headgate/field/limit_fields.h"
#include "headgate/field/merge.h"
#include "headgate/field/ratelimit.h"
#include "headgate/gate/verdict.h"
#include "headgate/policy/policy_set.h"

namespace headgate::gate {

// One field of a response.
struct Line {
  std::string_view name;
  std::string_view value;
  bool constant = false;  // true: `value` lives as long as the FieldWriter; false: it is in the
                          // Writer's buffer
};

// All fields of one response, in order.
class Lines {
 public:
  // Does not initialise the lines: FieldWriter adds them one by one.
  // `build/release/bin/steps_bench` measures it.
  Lines() noexcept {}

  [[nodiscard]] const Line* begin() const noexcept { return lines_.data(); }
  [[nodiscard]] const Line* end() const noexcept { return lines_.data() + count_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  // How many fields, or members of a field, were left out because there was no room or no name.
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

 private:
  friend class FieldWriter;

  union {
    std::array<Line, field::fields_max + 1> lines_;  // those of the forms, and what exposes them
  };
  std::size_t count_ = 0;
  std::size_t left_out_ = 0;
};

// Writes the fields that the policy file selects, from texts made once per policy file. Immutable
// and thread-safe. Writing allocates only if a name must be changed because an upstream uses it.
//
// If not all fields of a form fit, none of them is written.
class FieldWriter {
 public:
  // `policies` outlive this.
  explicit FieldWriter(const policy::PolicySet& policies);

  // Writes the fields of a response; without items, none. A reset that is written as a Unix time
  // counts from the time of this call.
  [[nodiscard]] Lines write(std::span<const Item> items, Writer& out) const noexcept;

  // The same for a response that keeps the fields of an upstream. The caller removes only those
  // fields that `upstream` marks as replaced, and only if this returns a field of the same name.
  [[nodiscard]] Lines write_beside(const field::Upstream& upstream, std::span<const Item> items,
                                   Writer& out) const noexcept;

  // Writes the problem document of a denial, which names the policies that denied, in file order.
  // Returns false, and writes nothing, if it does not fit, or if no policy denied (Refusal).
  [[nodiscard]] bool write_problem(const Verdict& verdict, Writer& out) const noexcept;

  // Moves the items that `report: closest` reports to the front and returns their number: for each
  // unit, the policy that denied with the longest wait, or if none denied, the one closest to
  // exhaustion.
  [[nodiscard]] std::size_t keep_closest(std::span<Item> items) const noexcept;

 private:
  // Names that replace the policies' own, one per item. An empty name keeps the policy's; an empty
  // span keeps all.
  using Renames = std::span<const std::string_view>;

  struct GrantTexts {
    const policy::Policy* policy;
    const limit::Quota* quota;
    std::string quoted;            // the name: `"burst"`
    std::string member;            // of RateLimit-Policy, without pk: `"burst";q=100;w=60`
    std::string older;             // draft-03's RateLimit-Limit: `100, 100;w=60`
    std::size_t limit_length = 0;  // of the first number in `older`

    // `100`
    [[nodiscard]] std::string_view limit() const noexcept {
      return std::string_view(older).substr(0, limit_length);
    }
    // `100;w=60`, or empty without a window
    [[nodiscard]] std::string_view quota_policy() const noexcept {
      constexpr std::size_t separator = field::member_separator.size();
      return std::string_view(older).substr(std::min(older.size(), limit_length + separator));
    }
  };
  struct PolicyTexts {
    std::uint16_t unit = 0;  // equal for equal units; 0: requests
    std::vector<GrantTexts> grants;
    std::size_t member_begin = 0;  // where its own grant's member begins in own_members_
  };
  // What an older form reports: one limit, and the quota policies of all limits that count
  // requests.
  struct OlderChoice {
    const Item* item = nullptr;      // the limit; nullptr: no limit counts requests
    std::size_t limits = 0;          // that count requests
    std::size_t quota_policies = 0;  // limits with a window
    std::string_view any_quota_policy;
  };
  class LineWriter;

  void add_ratelimit(std::span<const Item> items, Renames renames,
                     LineWriter& writer) const noexcept;
  void add_ratelimit_policy(std::span<const Item> items, Renames renames,
                            LineWriter& writer) const noexcept;
  [[nodiscard]] std::string_view known_policies(std::span<const Item> items) const noexcept;
  void add_exposure(LineWriter& writer) const noexcept;
  void add_beside(const field::Upstream& upstream, std::span<const Item> items,
                  LineWriter& writer) const noexcept;
  [[nodiscard]] OlderChoice choose_older(std::span<const Item> items) const noexcept;
  void add_older(field::Form form, std::span<const Item> items, LineWriter& writer) const noexcept;
  void put_quota_policies(std::span<const Item> items, std::string_view separator,
                          LineWriter& writer) const noexcept;
  void add_quota_policies(const OlderChoice& choice, std::span<const Item> items,
                          LineWriter& writer) const noexcept;
  static void add_remaining_and_reset(const field::LimitFields& names, const Item& item,
                                      std::uint64_t origin, LineWriter& writer) noexcept;
  void put_name(const Item& item, std::string_view rename, LineWriter& writer) const noexcept;

  [[nodiscard]] const GrantTexts& texts(const Item& item) const noexcept {
    return policies_[item.policy].grants[item.grant];
  }
  [[nodiscard]] std::optional<std::string_view> pk(const Item& item) const noexcept;

  policy::PartitionKey partition_key_;
  std::span<const field::Form> forms_;
  bool unix_reset_;
  std::string exposed_;  // the value of Access-Control-Expose-Headers; empty: it is not sent
  std::string_view upstream_prefix_;
  std::vector<PolicyTexts> policies_;
  std::vector<std::string_view> names_;  // of policies_
  // The members of all policies' own grants: `"burst";q=100;w=60, "daily";q=5000;w=86400`. For
  // policies that are neighbours in the file, RateLimit-Policy is a part of it.
  std::string own_members_;
};

}  // namespace headgate::gate
