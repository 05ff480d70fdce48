// HG.DECIDE, HG.PEEK and HG.REFUND: decisions of named policies.
//
//   HG.DECIDE policy key [cost]   admitted 0 or 1, q, r, reset [ms], wait [ms]
//
// -1 stands for what there is not: q and r of a partition without limit, a reset that nobody knows,
// and a wait that does not help.
#pragma once

#include <span>
#include <string_view>

#include "headgate/limit/law.h"
#include "headgate/net/resp_writer.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Decides a call, its name first, of three or four words, and writes the reply.
void answer_decide(limit::Op op, std::span<const std::string_view> call, WorkerContext& worker,
                   net::RespWriter& out);

}  // namespace headgate::server
