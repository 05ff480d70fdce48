// The pages that the server and the module of nginx have in common: metrics apart, what the
// dashboard and `headgate top` read.
#pragma once

#include <string_view>

#include "headgate/server/content.h"
#include "headgate/server/http/exchange.h"

namespace headgate::server {

// GET /v1/top and GET /v1/policies.
Content top_page(Engine& engine, WorkerContext& worker, std::string_view query);
Content policies_page(Engine& engine, WorkerContext& worker, std::string_view query);

// Whether one of the dashboard's files is at this path.
[[nodiscard]] bool is_asset(std::string_view path) noexcept;

// Answers a request for such a file: with 304 if the client already has it.
void answer_asset(Exchange& exchange);

}  // namespace headgate::server
