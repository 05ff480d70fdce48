// GET /v1/policies: the policies in force.
#pragma once

#include "headgate/server/content.h"

namespace headgate::server {

[[nodiscard]] Content policies_page(Engine& engine, WorkerContext& worker, std::string_view query);

}  // namespace headgate::server
