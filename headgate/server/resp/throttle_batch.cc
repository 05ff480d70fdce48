#include "headgate/server/resp/throttle_batch.h"

#include <utility>

#include "headgate/net/resp_writer.h"

namespace headgate::server {
namespace {

// Stands before a client's key in the table, where keys of policies have the length of the policy's
// name. No policy has an empty name, so the two kinds of keys differ.
constexpr char no_policy = '\0';

// Name of these decisions in the lists of /v1/top, where others have their policy's name.
constexpr std::string_view listed_as = "throttle";

}  // namespace

ThrottleBatch::ThrottleBatch(WorkerContext& worker) : worker_(worker) {
  for (std::size_t i = 0; i < calls_max; ++i) {
    bundles_[i] = {{&charges_[i], 1}, {&decisions_[i], 1}};
  }
}

void ThrottleBatch::add(ThrottleDialect dialect, std::span<const std::string_view> words,
                        std::string& replies) {
  const auto refuse = [&](std::string_view error) {
    flush();
    net::RespWriter(replies).error(error);
  };
  const auto call = ThrottleCall::read(dialect, words);
  if (!call) return refuse(call.error());
  const ThrottleLimit* limit = limits_.find(call->rate);
  if (limit == nullptr) {
    flush();  // a waiting call may point to the limit that make() replaces
    const auto made = limits_.make(call->rate);
    if (!made) return refuse("ERR " + std::string(made.error()));
    limit = *made;
  }
  if (waiting_ == 0) keys_.clear();
  const std::size_t key_begin = keys_.size();
  keys_ += no_policy;
  keys_ += words[1];
  store::Charge& charge = charges_[waiting_];
  charge.law = &limit->law;
  charge.cost = call->cost();
  charge.op = call->op();
  calls_[waiting_] = {*call, limit, &replies, key_begin, keys_.size() - key_begin};
  if (++waiting_ == calls_max) decide();
}

void ThrottleBatch::decide() {
  const std::size_t count = std::exchange(waiting_, 0);
  for (std::size_t i = 0; i < count; ++i) {
    charges_[i].key = std::string_view(keys_).substr(calls_[i].key_begin, calls_[i].key_size);
  }
  const Instant now = worker_.now();
  worker_.engine().table().take(std::span(bundles_).first(count), now, {});
  for (std::size_t i = 0; i < count; ++i) {
    const Waiting& waiting = calls_[i];
    net::RespWriter(*waiting.replies).integers(waiting.call.reply(*waiting.limit, decisions_[i]));
  }
  const PolicySnapshot& snapshot = worker_.in_force();
  const Nanos took = worker_.now().ns - now.ns;
  for (std::size_t i = 0; i < count; ++i) {
    const ThrottleCall& call = calls_[i].call;
    if (call.quantity <= 0) continue;
    worker_.stats().decided_alone(DoorKind::resp, snapshot, listed_as, charges_[i].key.substr(1),
                                  charges_[i].cost, call.admitted(decisions_[i]), now, took);
  }
}

}  // namespace headgate::server
