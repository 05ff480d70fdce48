// A call of take.lua: its arguments, and what it returns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/net/resp_reply_reader.h"
#include "headgate/redis/options.h"
#include "headgate/redis/part.h"

namespace headgate::redis {

// What the script does with one swapped key.
struct Swap {
  struct Value {
    std::string bytes;
    std::uint64_t ttl = 0;  // [ms]; 0: is not written
  };

  std::string_view key;
  std::string_view before;  // what Redis must have; empty: nothing
  Value admitted;           // to be written if all charges are admitted
  Value denied;             // to be written if one is denied
};

struct ScriptArguments {
  std::string bytes;      // as RespWriter writes them
  std::size_t count = 0;  // of arguments
};

// For the scripted charges of `parts`, and the swaps; several parts are taken one after the other.
// `now`: the moment of the decision; std::nullopt: Redis' own. `denied`: a charge that is not
// decided by the script is denied. REQUIRES: at most one part if `denied`, or if there are swaps.
[[nodiscard]] ScriptArguments script_arguments(std::span<const std::shared_ptr<Part>> parts,
                                               const std::optional<Instant>& now, Clock clock,
                                               bool denied, const std::vector<Swap>& swaps);

// What the script returned. Views into the reply.
struct ScriptReply {
  enum class Outcome : std::uint8_t { denied, admitted, changed };

  std::optional<Instant> now;            // Redis' time, if the script has read it
  Outcome outcome = Outcome::denied;     // of the last part
  std::vector<std::string_view> values;  // empty: none

  // std::nullopt if the reply has another form.
  [[nodiscard]] static std::optional<ScriptReply> parse(const net::RespReply& reply);
};

// Redis' time, from the reply to TIME or the beginning of a script's. std::nullopt if it is none,
// or was not read.
[[nodiscard]] std::optional<Instant> redis_time(const net::RespReply& reply);

}  // namespace headgate::redis
