// What Redis' replies about a server and its cluster say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/base/server_address.h"
#include "headgate/net/resp_reply_reader.h"

namespace headgate::redis {

// Why the server with this reply to ROLE is none that a store writes to, as a sentence;
// std::nullopt if it is a primary.
[[nodiscard]] std::optional<std::string> fault_of_role(const net::RespReply& reply);

// The primary in a sentinel's reply to SENTINEL GET-MASTER-ADDR-BY-NAME with this name. The error
// is a sentence.
[[nodiscard]] Result<ServerAddress, std::string> named_primary(const net::RespReply& reply,
                                                               std::string_view name);

// Slots of a cluster that follow each other.
struct SlotRange {
  std::int64_t first = 0;
  std::int64_t last = -1;
  std::optional<ServerAddress> primary;
};

// Reads the reply to CLUSTER SLOTS of the server `from`, whose host is that of a primary without
// one. Empty if the reply has another form.
[[nodiscard]] std::vector<SlotRange> slot_ranges(const net::RespReply& reply,
                                                 const ServerAddress& from);

}  // namespace headgate::redis
