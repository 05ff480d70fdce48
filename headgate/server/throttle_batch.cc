#include "headgate/server/throttle_batch.h"

namespace headgate::server {
namespace {

// In front of a client's key in the table: the length of a policy's name, and no policy has none.
constexpr char no_policy = '\0';

// How these decisions are listed among those of policies.
constexpr std::string_view listed_as = "throttle";

}  // namespace

ThrottleBatch::ThrottleBatch(Station& station) : station_(station) {
  for (std::size_t i = 0; i < calls_max; ++i) {
    bundles_[i] = {{&charges_[i], 1}, {&decisions_[i], 1}};
  }
}

void ThrottleBatch::ask(ThrottleDialect dialect, std::span<const std::string_view> words,
                        net::RespWriter& out) {
  const auto refuse = [&](std::string_view error) {
    flush(out);
    out.error(error);
  };
  const auto call = ThrottleCall::read(dialect, words);
  if (!call) return refuse(call.error());
  const ThrottleLimit* limit = limits_.find(call->rate);
  if (limit == nullptr) {
    flush(out);  // who waits may hold the limit whose place this one takes
    const auto made = limits_.make(call->rate);
    if (!made) return refuse("ERR " + std::string(made.error()));
    limit = *made;
  }
  limit::Charge& charge = charges_[waiting_];
  charge.law = &limit->law;
  charge.cost = call->cost();
  charge.op = call->op();
  calls_[waiting_] = {*call, limit, keys_.size()};
  keys_ += no_policy;
  keys_ += words[1];
  if (++waiting_ == calls_max) decide(out);
}

void ThrottleBatch::decide(net::RespWriter& out) {
  const std::string_view keys = keys_;
  std::size_t end = keys.size();
  for (std::size_t i = waiting_; i-- > 0; end = calls_[i].key_begin) {
    charges_[i].key = keys.substr(calls_[i].key_begin, end - calls_[i].key_begin);
  }
  const Instant now = station_.now();
  station_.engine().table().take(std::span(bundles_).first(waiting_), now, {});
  for (std::size_t i = 0; i < waiting_; ++i) {
    out.integers(calls_[i].call.reply(*calls_[i].limit, decisions_[i]));
  }
  const Generation& generation = station_.in_force();
  const Nanos took = station_.now().ns - now.ns;
  for (std::size_t i = 0; i < waiting_; ++i) {
    if (charges_[i].op == limit::Op::refund) continue;
    station_.sight().decided_alone(DoorKind::resp, generation, listed_as, charges_[i].key.substr(1),
                                   charges_[i].cost, calls_[i].call.admitted(decisions_[i]), now,
                                   took);
  }
  waiting_ = 0;
  keys_.clear();
}

}  // namespace headgate::server
