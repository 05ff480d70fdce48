// The dashboard's files, which are embedded in the program.
#pragma once

#include <span>
#include <string_view>

namespace headgate::view {

struct Asset {
  std::string_view name;  // "dashboard.js"; "" is the page itself
  std::string_view type;  // Content-Type
  std::string_view tag;   // ETag, with its quotes
  std::string_view body;
};

// The files of web/, embedded at build time by cmake/embed.cmake.
[[nodiscard]] std::span<const Asset> assets() noexcept;

// Returns nullptr if there is no file with this name.
[[nodiscard]] const Asset* find_asset(std::string_view name) noexcept;

struct AssetField {
  std::string_view name;
  std::string_view value;
};
// The fields that every response with such a file has, besides Content-Type and ETag.
[[nodiscard]] std::span<const AssetField> asset_fields() noexcept;

}  // namespace headgate::view
