// HG.RESERVE and HG.SETTLE: units that are taken ahead, and corrected when their need is known.
//
//   HG.RESERVE policy key cost    the integers of HG.DECIDE, and the reservation, or null if denied
//   HG.SETTLE reservation cost    1; 0: it was settled before, or is too old, or the table is
//                                 full and units were not given back;
//                                 an error: its policy is not in force
#pragma once

#include <span>
#include <string_view>

#include "headgate/net/resp_writer.h"
#include "headgate/server/resp/waiting_replies.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Answer calls whose first word is the command's name, as answer_decide() does.
void answer_reserve(std::span<const std::string_view> call, WorkerContext& worker,
                    net::RespWriter& out, WaitingReplies& waiting);
void answer_settle(std::span<const std::string_view> call, WorkerContext& worker,
                   net::RespWriter& out, WaitingReplies& waiting);

}  // namespace headgate::server
