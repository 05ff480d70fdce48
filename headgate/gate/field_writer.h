// Where the words of limit/ and field/ meet: decisions as fields of the response and as problem
// details.
//
//   std::array<char, 16384> room;
//   Writer out(room);
//   for (const Line& line : report.write(verdict.items, out)) response.add(line.name, line.value);
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
#include "headgate/field/merge.h"
#include "headgate/field/ratelimit.h"
#include "headgate/gate/verdict.h"
#include "headgate/policy/policy_set.h"

namespace headgate::gate {

// One field of a response.
struct Line {
  std::string_view name;
  std::string_view value;
  bool constant =
      false;  // `value` lives as long as the FieldWriter; otherwise in the Writer's buffer
};

// All fields of one response, in order.
class Lines {
 public:
  Lines() noexcept {}  // the lines come one by one

  [[nodiscard]] const Line* begin() const noexcept { return lines_.data(); }
  [[nodiscard]] const Line* end() const noexcept { return lines_.data() + count_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  // How many fields, or members of one, could not be written or named, and are not there.
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

 private:
  friend class FieldWriter;

  union {
    std::array<Line, field::fields_max> lines_;
  };
  std::size_t count_ = 0;
  std::size_t left_out_ = 0;
};

// Writes the fields that the policy file asks for, from texts made once per policy file. Immutable;
// thread-safe; no allocation when writing, but for names that clash with an upstream's.
//
// Fails closed: a form whose fields do not fit is left out whole.
class FieldWriter {
 public:
  explicit FieldWriter(const policy::PolicySet& policies);  // outlives this

  // The fields of a response. None without items. A reset that is told as a Unix time is one from
  // now on.
  [[nodiscard]] Lines write(std::span<const Item> items, Writer& out) const noexcept;

  // The same beside the fields of an upstream, which stay: the caller drops only the lines of
  // fields that `upstream` says to replace, and only if there is one here to replace them.
  [[nodiscard]] Lines write_beside(const field::Upstream& upstream, std::span<const Item> items,
                                   Writer& out) const noexcept;

  // The problem document of a denial: names the policies that denied, in file order. False, and
  // nothing written, if it does not fit.
  [[nodiscard]] bool write_problem(const Verdict& verdict, Writer& out) const noexcept;

  // Moves those that `report: closest` tells to the front and returns their number: of each unit
  // the policy closest to exhaustion. Of a denial that is one that denied, with the longest wait.
  [[nodiscard]] std::size_t keep_closest(std::span<Item> items) const noexcept;

 private:
  // Names to use instead of the policies' own, one per item; an empty one keeps the policy's. An
  // empty span keeps them all.
  using Renames = std::span<const std::string_view>;

  struct Grant {
    const policy::Policy* policy;
    const limit::Quota* quota;
    std::string quoted;  // `"burst"`: what it is called
    std::string member;  // `"burst";q=100;w=60`: of RateLimit-Policy, without pk
    std::string older;   // `100, 100;w=60`: draft-03's RateLimit-Limit, and with it:
    std::size_t limit_length = 0;

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
  struct Policy {
    std::string_view name;
    std::uint8_t unit = 0;  // the same number for the same unit; 0 for requests
    std::vector<Grant> grants;
    std::size_t member_begin = 0;  // of its own grant's member in own_members_
  };
  class LineWriter;

  void add_ratelimit(std::span<const Item> items, Renames renames, LineWriter& page) const noexcept;
  void add_ratelimit_policy(std::span<const Item> items, Renames renames,
                            LineWriter& page) const noexcept;
  [[nodiscard]] std::string_view known_policies(std::span<const Item> items) const noexcept;
  void add_beside(const field::Upstream& upstream, std::span<const Item> items,
                  LineWriter& page) const noexcept;
  void add_older(field::Form form, std::span<const Item> items, LineWriter& page) const noexcept;
  void put_name(const Item& item, std::string_view rename, LineWriter& page) const noexcept;

  [[nodiscard]] const Grant& grant(const Item& item) const noexcept {
    return policies_[item.policy].grants[item.grant];
  }
  [[nodiscard]] std::optional<std::string_view> pk(const Item& item) const noexcept;

  policy::PartitionKey partition_key_;
  std::span<const field::Form> forms_;
  bool unix_reset_;
  std::string_view upstream_prefix_;
  std::vector<Policy> policies_;
  // `"burst";q=100;w=60, "daily";q=5000;w=86400`: of all policies' own grants. What is told of
  // neighbours in the file is a part of it.
  std::string own_members_;
};

}  // namespace headgate::gate
