// GET /v1/policies: what is in force.
#pragma once

#include "headgate/server/content.h"

namespace headgate::server {

[[nodiscard]] Content policies_page(Engine& engine, WorkerContext& worker, std::string_view query);

}  // namespace headgate::server
