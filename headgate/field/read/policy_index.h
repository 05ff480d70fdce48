// Which policy a member of RateLimit belongs to.
#pragma once

#include <cstddef>
#include <vector>

#include "headgate/field/read/member.h"

namespace headgate::field {

// Finds policies by name and partition key, in logarithmic time, and remembers which it found.
// Keeps pointers to them.
class PolicyIndex {
 public:
  // All have names. Sorts, so no sender can make it quadratic; may throw std::bad_alloc.
  explicit PolicyIndex(std::vector<Member>& policies);

  // Best the one with the same partition key; where only one side has a key, the name decides. Of
  // equal ones the first. Null if there is none.
  [[nodiscard]] const Member* find(const Member& limit) noexcept;

  // Moves those that were never found to the end of `out`, in their own order.
  void move_rest(std::vector<Member>& out);

 private:
  struct Entry {
    Member* policy;
    std::size_t first_of_name;  // the entry of the first policy with this name
    bool found;
  };
  [[nodiscard]] Entry* entry(const Member& limit) noexcept;

  std::vector<Entry> entries_;  // by name, then those without a key first, by key, by position
};

// Fills in what the policies tell about the limits, and appends those that no limit belongs to.
[[nodiscard]] std::vector<Member> join(std::vector<Member> limits, std::vector<Member> policies);

}  // namespace headgate::field
