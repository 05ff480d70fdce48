// POST /v1/decide: decisions of policies that the request names. docs/server.md.
#pragma once

#include "headgate/server/http/exchange.h"

namespace headgate::server {

void answer_decide(Exchange& exchange);

}  // namespace headgate::server
