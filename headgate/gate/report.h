// Where the words of limit/ and field/ meet: decisions as field members and problem details.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/writer.h"
#include "headgate/gate/verdict.h"
#include "headgate/policy/policy_set.h"

namespace headgate::gate {

// Writes RateLimit and RateLimit-Policy values from texts made once per policy file. Immutable;
// thread-safe; no allocation when writing.
//
// All write functions fail closed: false, and nothing written, if the text does not fit.
class Report {
 public:
  explicit Report(const policy::PolicySet& policies);  // outlives this

  // Names to use instead of the policies' own, one per item; an empty one keeps the policy's. An
  // empty span keeps them all.
  using Renames = std::span<const std::string_view>;

  // `"burst";r=99;t=60, "daily";r=4999;t=86383`
  [[nodiscard]] bool write_ratelimit(std::span<const Item> items, Renames renames,
                                     Writer& out) const noexcept;
  // `"burst";q=100;w=60, "daily";q=5000;w=86400`
  [[nodiscard]] bool write_ratelimit_policy(std::span<const Item> items, Renames renames,
                                            Writer& out) const noexcept;
  // The same without writing it, where it is one policy's constant text; lives as long as this.
  [[nodiscard]] std::optional<std::string_view> constant_policy(std::span<const Item> items,
                                                                Renames renames) const noexcept;
  // The problem document of a denial: names the policies that denied, in file order.
  [[nodiscard]] bool write_problem(const Verdict& verdict, Writer& out) const noexcept;

  // The partition key of an item as raw bytes, as the policy file has it shown.
  [[nodiscard]] std::optional<std::string_view> pk(const Item& item) const noexcept;

 private:
  struct Grant {
    const policy::Policy* policy;
    const limit::Quota* quota;
    std::string member;  // `"burst";q=100;w=60`: of RateLimit-Policy, without pk
  };
  struct Policy {
    std::string_view name;
    std::string quoted;  // `"burst"`
    std::vector<Grant> grants;
  };

  template <class Parameters>
  bool write_members(std::span<const Item> items, Renames renames, Writer& out,
                     Parameters parameters) const noexcept;

  policy::PartitionKey partition_key_;
  std::vector<Policy> policies_;
};

}  // namespace headgate::gate
