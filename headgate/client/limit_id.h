// Which limit of a server a member of an answer is about.
#pragma once

#include <cstddef>
#include <string>

namespace headgate::client {

struct LimitId {
  std::string policy;       // empty if the dialect has no names
  std::string pk;           // partition key, raw bytes; empty if there is none
  std::size_t ordinal = 0;  // among the members of one answer with this policy and key
  friend bool operator==(const LimitId&, const LimitId&) = default;
};

}  // namespace headgate::client
