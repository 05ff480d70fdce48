// GET and DELETE /v1/state/POLICY/KEY: what one partition has, and giving it a full quota.
// docs/server.md.
#pragma once

#include "headgate/server/http/exchange.h"

namespace headgate::server {

void answer_state(Exchange& exchange);

// Gives the partition all that it has taken, logs a line, and answers with its state after that.
void answer_reset(Exchange& exchange);

}  // namespace headgate::server
