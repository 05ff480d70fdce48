// Joining members of RateLimit with the members of RateLimit-Policy that they belong to.
#pragma once

#include <cstddef>
#include <vector>

#include "headgate/field/read/member.h"

namespace headgate::field {

// Finds policies by name and partition key in logarithmic time, and records which were found. Keeps
// pointers to the policies, which must outlive it.
class PolicyIndex {
 public:
  // Every policy must have a name. Sorting keeps joining from being quadratic, whatever a server
  // sends. May throw std::bad_alloc.
  explicit PolicyIndex(std::vector<Member>& policies);

  // Returns the first policy with the limit's name and partition key; otherwise, if the limit or
  // the policy has no key, the first with its name; otherwise nullptr.
  [[nodiscard]] const Member* find(const Member& limit) noexcept;

  // Moves the policies that find() never returned to the end of `out`, in their original order.
  void move_rest(std::vector<Member>& out);

 private:
  struct Entry {
    Member* policy;
    std::size_t first_of_name;  // the entry of the first policy with this name
    bool found;
  };
  [[nodiscard]] Entry* entry(const Member& limit) noexcept;

  std::vector<Entry> entries_;  // sorted by name, key (no key first) and position
};

// Copies q, unit, w and a missing key from each limit's policy into the limit, and appends the
// policies to which no limit belongs. May throw std::bad_alloc.
[[nodiscard]] std::vector<Member> join(std::vector<Member> limits, std::vector<Member> policies);

}  // namespace headgate::field
