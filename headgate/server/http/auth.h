// ANY /auth: forward-auth for nginx's auth_request, Caddy's forward_auth and Traefik's ForwardAuth.
// docs/server.md.
#pragma once

#include "headgate/server/http/exchange.h"

namespace headgate::server {

void answer_auth(Exchange& exchange);

}  // namespace headgate::server
