// Writes ACK frames: what HAProxy learns of a decision.
#pragma once

#include <cstdint>

#include "headgate/net/spoe_frame.h"
#include "headgate/server/decision_job.h"
#include "headgate/server/spoe/door_context.h"

namespace headgate::server {

// What an ACK depends on beside the verdict.
struct SpoeAckTerms {
  std::uint64_t stream_id = 0;
  std::uint64_t frame_id = 0;
  std::uint32_t frame_max = net::spoe_frame_min;
  bool forgets_receipt = false;  // the one that the transaction has was settled
  bool wants_problem = false;    // a denial has a problem document
};

// Append to the door's output. What does not fit into a frame is left out, the problem document
// first, and of a receipt what has the longest keys. Throw std::bad_alloc.
void write_ack(const SpoeAckTerms& terms, SpoeDoorContext& door);  // without a decision
void write_ack(const SpoeAckTerms& terms, const DecisionJob& job, SpoeDoorContext& door);
// The verdict on a request whose message is too long to be read: denied, with status 431.
void write_denial(const SpoeAckTerms& terms, SpoeDoorContext& door);

}  // namespace headgate::server
