// One rate limit, as read from the fields of a response in any dialect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headgate::field {

// What the fields do not contain is absent: RateLimit has r and t; RateLimit-Policy has q, unit and
// w.
struct Member {
  std::optional<std::string> policy;  // the policy's name
  std::optional<std::uint64_t> q;     // quota [units of `unit`]
  std::optional<std::string> unit;    // of q and r, if the dialect has units
  std::optional<std::uint64_t> w;     // window [s]
  std::optional<std::uint64_t> r;     // units left
  std::optional<std::uint64_t> t;     // until the reset [s]
  std::optional<std::string> pk;      // partition key, raw bytes
  friend bool operator==(const Member&, const Member&) = default;
};

}  // namespace headgate::field
