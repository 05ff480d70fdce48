// The commands of the RESP door, and the replies of COMMAND, which describes them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "headgate/net/resp_writer.h"

namespace headgate::server {

struct RespArgument {
  std::string_view name;
  std::string_view type;  // in the words of COMMAND DOCS: key, string, integer
  bool optional = false;
};

struct RespCommand {
  enum class Id : std::uint8_t {
    cl_throttle,
    throttle,
    hg_decide,
    hg_peek,
    hg_refund,
    hg_reserve,
    hg_settle,
    ping,
    echo,
    hello,
    auth,
    select,
    client,
    command,
    config,
    info,
    quit,
    reset,
  };

  Id id;
  std::string_view name;  // in lower case
  int arity;              // number of words, the name included; negative: at least that many
  int words_max;          // the most words if the arity is negative; 0: any number
  int key;                // index of the word that is the key; 0: none
  bool changes;           // changes state
  bool before_auth;       // allowed without AUTH
  std::string_view summary;
  std::span<const RespArgument> arguments;
  bool takes_long = false;  // perhaps more than Turn::short_max

  [[nodiscard]] constexpr bool takes(std::size_t words) const noexcept {
    const auto count = static_cast<int>(words);
    if (arity >= 0) return count == arity;
    return count >= -arity && (words_max == 0 || count <= words_max);
  }
};

// Ignores case. Returns nullptr if there is no command of this name.
[[nodiscard]] const RespCommand* find_command(std::string_view name) noexcept;

// Answers COMMAND [COUNT | INFO [name ...] | DOCS [name ...] | LIST]; `call` begins with COMMAND.
void answer_command(std::span<const std::string_view> call, net::RespWriter& out);

}  // namespace headgate::server
