// POST /v1/decide and /v1/reserve: decisions of policies that the request names. docs/server.md.
#pragma once

#include "headgate/server/http/exchange.h"

namespace headgate::server {

void answer_decide(Exchange& exchange);
void answer_reserve(Exchange& exchange);

}  // namespace headgate::server
