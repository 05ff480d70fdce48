// Errors as problem details (RFC 9457).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/view/page.h"

namespace headgate::view {

// Appends the document: type about:blank, `title`, which is the status' phrase, `detail`, and
// `offset`, the byte of the request's body that is at fault, if there is one.
void append_problem(std::string& out, unsigned status, std::string_view title,
                    std::string_view detail, std::optional<std::size_t> offset = {});

// Returns that document with the title of a status that the pages of this room have.
[[nodiscard]] Page problem_page(unsigned status, std::string_view detail,
                                std::optional<std::size_t> offset = {});

}  // namespace headgate::view
