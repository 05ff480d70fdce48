#include "headgate/server/http/dashboard.h"

#include <optional>
#include <utility>

#include "headgate/server/http/page.h"
#include "headgate/view/asset.h"
#include "headgate/view/policies_page.h"
#include "headgate/view/top_page.h"

namespace headgate::server {
namespace {

// RFC 9110, section 13.1.2. A search suffices because our own tags contain no comma.
bool contains(std::string_view if_none_match, std::string_view tag) noexcept {
  return if_none_match == "*" || if_none_match.find(tag) != std::string_view::npos;
}

const view::Asset* asset_at(std::string_view path) noexcept {
  return path.starts_with('/') ? view::find_asset(path.substr(1)) : nullptr;
}

}  // namespace

Content top_page(Engine& engine, WorkerContext& worker, std::string_view query) {
  const view::Labels& in_force = worker.in_force().labels();
  view::Recent recent;
  engine.for_each_worker([&](const WorkerContext& each) {
    recent.add(each.stats().recent().recent(worker.now(), in_force));
  });
  redis::PolicyStore* const redis = engine.redis();
  return content(
      view::top_page(query, std::move(recent), in_force,
                     redis == nullptr ? std::nullopt : std::optional(redis->status().up)));
}

Content policies_page(Engine& engine, WorkerContext& worker, std::string_view) {
  const PolicySnapshot& snapshot = worker.in_force();
  return content(view::policies_page(engine.config(), snapshot.reading(), snapshot.policies()));
}

bool is_asset(std::string_view path) noexcept { return asset_at(path) != nullptr; }

void answer_asset(Exchange& exchange) {
  const view::Asset& asset = *asset_at(exchange.request.path());
  const bool known = contains(exchange.request.first("if-none-match").value_or(""), asset.tag);
  exchange.reply.begin(known ? 304 : 200);
  exchange.reply.field("ETag", asset.tag);
  for (const auto& [name, value] : view::asset_fields()) exchange.reply.field(name, value);
  if (known) return exchange.reply.lines("\r\n");  // a 304 has no content and needs no length
  exchange.reply.end(asset.type, asset.body);
}

}  // namespace headgate::server
