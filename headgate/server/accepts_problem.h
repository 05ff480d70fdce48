// Whether a client takes a problem document.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "headgate/field/accept.h"
#include "headgate/policy/request.h"

namespace headgate::server {

// By the fields of its request.
[[nodiscard]] inline bool accepts_problem(const policy::Headers& headers) noexcept {
  // Clients send one Accept line, rarely two; further lines than 16 are ignored.
  std::array<std::string_view, 16> lines;
  std::size_t count = 0;
  while (count < lines.size()) {
    const auto line = headers.line("accept", count);
    if (!line) break;
    lines[count++] = *line;
  }
  return field::accepts_problem_json(std::span(lines).first(count));
}

}  // namespace headgate::server
