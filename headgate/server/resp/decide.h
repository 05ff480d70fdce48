// HG.DECIDE, HG.PEEK and HG.REFUND: decisions of named policies; and what HG.RESERVE has in common
// with them.
//
//   HG.DECIDE policy key [cost]   admitted 0 or 1, q, r, reset [ms], wait [ms]
//
// -1 stands for an absent value: q and r of a partition without limit, an unknown reset, and the
// wait of a call that is never admitted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/gate/check.h"
#include "headgate/limit/law.h"
#include "headgate/net/resp_writer.h"
#include "headgate/server/resp/waiting_replies.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Decides a call of three or four words, the command's name first, and writes the reply to `out`.
// If the decision is outstanding, adds the reply to `waiting` instead, whose end `out` writes to.
void answer_decide(limit::Op op, std::span<const std::string_view> call, WorkerContext& worker,
                   net::RespWriter& out, WaitingReplies& waiting);

// Returns the cost that a word says; std::nullopt, after the error was written: it says none.
[[nodiscard]] std::optional<std::uint64_t> read_cost(std::string_view text, net::RespWriter& out);

// Writes the error of a decision that was not made.
void write_fault(gate::CheckFault::Reason reason, std::string_view policy, net::RespWriter& out);

// The integers of a reply.
[[nodiscard]] std::array<std::int64_t, 5> figures_of(const DecisionJob& job) noexcept;

}  // namespace headgate::server
