// HG.DECIDE, HG.PEEK and HG.REFUND: decisions of named policies.
//
//   HG.DECIDE policy key [cost]   admitted 0 or 1, q, r, reset [ms], wait [ms]
//
// -1 stands for an absent value: q and r of a partition without limit, an unknown reset, and the
// wait of a call that is never admitted.
#pragma once

#include <span>
#include <string_view>

#include "headgate/limit/law.h"
#include "headgate/net/resp_writer.h"
#include "headgate/server/resp/waiting_replies.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Decides a call of three or four words, the command's name first, and writes the reply to `out`.
// If the decision is outstanding, adds the reply to `waiting` instead, whose end `out` writes to.
void answer_decide(limit::Op op, std::span<const std::string_view> call, WorkerContext& worker,
                   net::RespWriter& out, WaitingReplies& waiting);

}  // namespace headgate::server
