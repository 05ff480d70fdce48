// How long to wait after a response, as text.
#pragma once

#include <string>

#include "headgate/field/read/response.h"

namespace headgate::cli {

// Returns one or more sentences: when the next request may be sent, and which field says so.
// `status`: the response's, 0 if unknown. `faults`: a field could not be read.
[[nodiscard]] std::string advice(const field::ResponseView& view, int status, bool faults);

}  // namespace headgate::cli
