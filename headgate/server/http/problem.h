// Errors of the HTTP door as problem details (RFC 9457).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "headgate/server/http/decide_request.h"
#include "headgate/server/http/exchange.h"

namespace headgate::server {

// Returns the document, in door.text: type about:blank, the status' title, `detail`, and `offset`,
// the byte of the body that is at fault, if there is one.
[[nodiscard]] std::string_view problem_text(HttpDoorContext& door, unsigned status,
                                            std::string_view detail,
                                            std::optional<std::size_t> offset = {});

// Answers with that document, and counts requests that could not be read.
void answer_problem(Exchange& exchange, unsigned status, std::string_view detail,
                    std::optional<std::size_t> offset = {});

// Answers with the fault of a request's body.
void answer_fault(Exchange& exchange, const DecideFault& fault);

}  // namespace headgate::server
