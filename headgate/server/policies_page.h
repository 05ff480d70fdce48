// GET /v1/policies: what is in force.
#pragma once

#include "headgate/server/page.h"

namespace headgate::server {

[[nodiscard]] Page policies_page(Engine& engine, Station& station, std::string_view query);

}  // namespace headgate::server
