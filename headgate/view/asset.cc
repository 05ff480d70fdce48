#include "headgate/view/asset.h"

#include <algorithm>

namespace headgate::view {
namespace {

// The page loads only its own files, runs no inline script, connects to no other server, and no
// page can show it in a frame.
constexpr AssetField guards[] = {
    {"Cache-Control", "no-cache"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
};

}  // namespace

const Asset* find_asset(std::string_view name) noexcept {
  const std::span<const Asset> all = assets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Asset& asset) { return asset.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::span<const AssetField> asset_fields() noexcept { return guards; }

}  // namespace headgate::view
