// GET /metrics: what the server tells Prometheus, described in docs/operations.md.
#pragma once

#include "headgate/server/page.h"

namespace headgate::server {

Page metrics_page(Engine& engine, Station& station, std::string_view query);

}  // namespace headgate::server
