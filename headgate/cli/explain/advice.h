// How long to wait after a response, in words.
#pragma once

#include <string>

#include "headgate/field/read/response.h"

namespace headgate::cli {

// One sentence or some: when the next request may be sent, and which field says so. `status`: of
// the response, 0 if it is not known. `faults`: some field could not be read.
[[nodiscard]] std::string advice(const field::ResponseView& view, int status, bool faults);

}  // namespace headgate::cli
