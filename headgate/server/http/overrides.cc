#include "headgate/server/http/overrides.h"

#include <spdlog/spdlog.h>

#include "headgate/server/http/page.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/peer.h"
#include "headgate/server/unix_time.h"
#include "headgate/server/worker_context.h"
#include "headgate/view/overrides_page.h"
#include "headgate/view/partition_path.h"

namespace headgate::server {
namespace {

constexpr std::string_view head = "/v1/overrides/";

}  // namespace

Content overrides_page(Engine& engine, WorkerContext& worker, std::string_view) {
  return content(view::overrides_page(engine.overrides_file(), worker.in_force().overrides()));
}

void answer_set_override(Exchange& exchange) {
  const auto partition = view::PartitionPath::read(exchange.request.path(), head);
  if (!partition) return answer_problem(exchange, 404, partition.error());
  WorkerContext& worker = exchange.door.worker;
  const std::uint64_t now = unix_now();
  const auto override = view::read_override_request(
      *partition, {exchange.request.body(), peer_text(exchange.caller.fd), now},
      worker.in_force().policies());
  if (!override) return write_page(exchange.reply, override.error());
  if (const auto set = worker.engine().set_override(*override, now); !set) {
    return write_page(exchange.reply, view::refusal_page(set.error()));
  }
  spdlog::info("{} sets the override {}", override->by, policy::json_of(*override));
  write_page(exchange.reply, view::override_page(*override));
}

void answer_remove_override(Exchange& exchange) {
  const auto partition = view::PartitionPath::read(exchange.request.path(), head);
  if (!partition) return answer_problem(exchange, 404, partition.error());
  const auto removed =
      exchange.door.worker.engine().remove_override(partition->policy, partition->key, unix_now());
  if (!removed) return write_page(exchange.reply, view::refusal_page(removed.error()));
  if (!*removed) return write_page(exchange.reply, view::no_override_page(*partition));
  spdlog::info("{} removes the override {}", peer_text(exchange.caller.fd),
               policy::json_of(**removed));
  write_page(exchange.reply, view::override_page(**removed));
}

}  // namespace headgate::server
