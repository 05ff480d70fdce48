// GET /metrics: the server's metrics for Prometheus, described in docs/operations.md.
#pragma once

#include "headgate/server/content.h"

namespace headgate::server {

Content metrics_page(Engine& engine, WorkerContext& worker, std::string_view query);

}  // namespace headgate::server
