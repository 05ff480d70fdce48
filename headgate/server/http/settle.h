// POST /v1/settle: corrects what a reservation of /v1/reserve has taken. docs/server.md.
#pragma once

#include "headgate/server/http/exchange.h"

namespace headgate::server {

void answer_settle(Exchange& exchange);

}  // namespace headgate::server
