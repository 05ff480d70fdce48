// The dashboard's files, as they are in the program.
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

// Those of web/, made at build time by cmake/embed.cmake.
[[nodiscard]] std::span<const Asset> assets() noexcept;

// nullptr if nothing is there.
[[nodiscard]] const Asset* find_asset(std::string_view path) noexcept;

// Answers a request for one of them: 304 if the client has it.
void answer_asset(Exchange& exchange);

}  // namespace headgate::server
