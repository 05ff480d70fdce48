#include "headgate/server/http/asset.h"

#include <algorithm>

namespace headgate::server {
namespace {

// The page loads only its own files, runs no inline script, connects to no other server, and no
// page can show it in a frame.
constexpr std::string_view guards =
    "Cache-Control: no-cache\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n";

// RFC 9110, section 13.1.2. A search suffices because our own tags contain no comma.
bool contains(std::string_view if_none_match, std::string_view tag) noexcept {
  return if_none_match == "*" || if_none_match.find(tag) != std::string_view::npos;
}

}  // namespace

const Asset* find_asset(std::string_view path) noexcept {
  const std::span<const Asset> all = assets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Asset& asset) { return asset.path == path; });
  return found == all.end() ? nullptr : &*found;
}

void answer_asset(Exchange& exchange) {
  const Asset& asset = *find_asset(exchange.request.path());
  const bool known = contains(exchange.request.first("if-none-match").value_or(""), asset.tag);
  exchange.reply.begin(known ? 304 : 200);
  exchange.reply.field("ETag", asset.tag);
  exchange.reply.lines(guards);
  if (known) return exchange.reply.lines("\r\n");  // a 304 has no content and needs no length
  exchange.reply.end(asset.type, asset.body);
}

}  // namespace headgate::server
