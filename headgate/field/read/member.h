// One rate limit as the fields of a response tell it, whatever the dialect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headgate::field {

// What is not known is absent: RateLimit tells r and t, RateLimit-Policy q, unit and w.
struct Member {
  std::optional<std::string> policy;  // the policy's name
  std::optional<std::uint64_t> q;     // quota [units of `unit`]
  std::optional<std::string> unit;    // of q and r, where the dialect tells it
  std::optional<std::uint64_t> w;     // window [s]
  std::optional<std::uint64_t> r;     // units left
  std::optional<std::uint64_t> t;     // for the next t seconds
  std::optional<std::string> pk;      // partition key, raw bytes
  friend bool operator==(const Member&, const Member&) = default;
};

}  // namespace headgate::field
