// The dashboard's files, which are embedded in the program.
#pragma once

#include <span>
#include <string_view>

#include "headgate/server/http/exchange.h"

namespace headgate::server {

struct Asset {
  std::string_view path;
  std::string_view type;  // Content-Type
  std::string_view tag;   // ETag, with its quotes
  std::string_view body;
};

// The files of web/, embedded at build time by cmake/embed.cmake.
[[nodiscard]] std::span<const Asset> assets() noexcept;

// Returns nullptr if there is no file with this path.
[[nodiscard]] const Asset* find_asset(std::string_view path) noexcept;

// Answers a request for a file that find_asset() finds: with 304 if the client already has it.
void answer_asset(Exchange& exchange);

}  // namespace headgate::server
