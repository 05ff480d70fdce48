// A call of the module's HG.TAKE: its words, and what it returns.
#pragma once

#include <string>

#include "headgate/net/resp_reply_reader.h"
#include "headgate/redis/part.h"

namespace headgate::redis {

// The command for the charges of `part` that have a state, as RespWriter writes it.
[[nodiscard]] std::string module_command(const Part& part);

// Reads the reply into the decisions and the outcome of `part`, whose charges without a state are
// admitted. Returns false if it has another form.
[[nodiscard]] bool read_module_reply(const net::RespReply& reply, Part& part);

// Whether an error says that the server does not have the module, or that the user may not use it.
// Nothing was executed then.
[[nodiscard]] bool lacks_module(std::string_view error) noexcept;

}  // namespace headgate::redis
