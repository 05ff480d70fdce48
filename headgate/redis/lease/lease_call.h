// A call of lease.lua: its arguments, and what it returns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/net/resp_reply_reader.h"
#include "headgate/redis/lease/lease.h"
#include "headgate/redis/script_call.h"

namespace headgate::redis {

// Requests of the same cost that wait for one ask.
struct LeaseGroup {
  std::uint64_t cost = 1;
  std::uint64_t requests = 0;
};

// `id`: of this process, hexadecimal.
[[nodiscard]] ScriptArguments lease_arguments(std::string_view key, std::string_view id,
                                              const LeaseTerms& terms, const LeaseAsk& ask,
                                              const std::vector<LeaseGroup>& waiting);

// std::nullopt if the reply has another form.
[[nodiscard]] std::optional<LeaseReply> lease_reply(const net::RespReply& reply);

}  // namespace headgate::redis
