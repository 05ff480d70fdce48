// GET /v1/overrides, and PUT and DELETE /v1/overrides/POLICY/KEY: other quotas for single
// partitions, without another policy file. docs/server.md.
#pragma once

#include "headgate/server/content.h"
#include "headgate/server/http/exchange.h"

namespace headgate::server {

Content overrides_page(Engine& engine, WorkerContext& worker, std::string_view query);

// Both log a line with the whole override.
void answer_set_override(Exchange& exchange);
void answer_remove_override(Exchange& exchange);

}  // namespace headgate::server
