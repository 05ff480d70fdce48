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

// A key that must have this value.
struct Compared {
  std::string_view key;
  std::string_view value;  // empty: none
};

// What one bundle does with a compared key.
struct Write {
  struct Value {
    std::string bytes;
    std::uint64_t ttl = 0;  // [ms]; 0: is not written
  };

  std::size_t at;  // the key's place among those that are compared
  Value admitted;  // to be written if all charges are admitted
  Value denied;    // to be written if one is denied
};

// What the script does for one bundle.
struct ScriptBundle {
  const Part* part = nullptr;  // whose scripted charges it takes; nullptr: none
  bool denied = false;         // a charge that the script does not decide is denied
  // Whether the bundle is to be admitted. If it writes and this is not the verdict, those behind it
  // are not decided, because what they write was found for this verdict.
  bool foreseen = true;
  std::vector<Write> writes;
};

struct ScriptArguments {
  std::string bytes;      // as RespWriter writes them
  std::size_t count = 0;  // of arguments
};

// For bundles that are taken one after the other. `now`: the moment of the decision; std::nullopt:
// Redis' own.
[[nodiscard]] ScriptArguments script_arguments(std::span<const ScriptBundle> bundles,
                                               const std::optional<Instant>& now, Clock clock,
                                               std::span<const Compared> compared);

// What the script returned. Views into the reply.
struct ScriptReply {
  std::optional<Instant> now;  // Redis' time, if the script has read it
  bool changed = false;        // a compared key has another value: nothing is decided
  std::string_view verdicts;   // per bundle that is decided, '1' if it is admitted and '0' if not
  // What the scripted keys of these had, in their order, and behind that, if bundles are left
  // undecided, what the compared keys have. Empty: none.
  std::vector<std::string_view> values;

  // std::nullopt if the reply has another form.
  [[nodiscard]] static std::optional<ScriptReply> parse(const net::RespReply& reply);
};

// Redis' time, from the reply to TIME or the beginning of a script's. std::nullopt if it is none,
// or was not read.
[[nodiscard]] std::optional<Instant> redis_time(const net::RespReply& reply);

}  // namespace headgate::redis
