// The header section of a message, as HAProxy's req.hdrs_bin and res.hdrs_bin write it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "headgate/policy/request.h"

namespace headgate::server {

// Names and values in turn, each after its length; two empty ones at the end. Not thread-safe:
// line() remembers where it stopped.
class SpoeHeaders final : public policy::Headers {
 public:
  SpoeHeaders() = default;  // none

  // Returns std::nullopt if the bytes are malformed. They outlive this.
  [[nodiscard]] static std::optional<SpoeHeaders> read(std::string_view bytes) noexcept;

  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override;

 private:
  struct Position {
    std::string_view name;
    std::string_view rest;  // of the lines
    std::size_t found = 0;  // lines with that name before it
  };

  explicit SpoeHeaders(std::string_view lines) noexcept : lines_(lines) {}

  std::string_view lines_;  // well-formed, without the end
  mutable Position last_;   // behind the line that was returned last
};

}  // namespace headgate::server
