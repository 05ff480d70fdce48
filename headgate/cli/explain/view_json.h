// The view of a response as JSON.
#pragma once

#include <string>

#include "headgate/field/read/response.h"

namespace headgate::cli {

// One line: {"source": "ratelimit", "members": [{"policy": "burst", "q": 5, "qu": "requests",
// "w": 10, "r": 4, "t": 8, "pk": null}], "retry_after": null, "ignored": [], "cached": false}.
// Unknown values are null; pk is in base64.
[[nodiscard]] std::string view_json(const field::ResponseView& view);

}  // namespace headgate::cli
