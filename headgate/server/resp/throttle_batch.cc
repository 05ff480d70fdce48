#include "headgate/server/resp/throttle_batch.h"

#include <utility>

#include "headgate/net/resp_writer.h"
#include "headgate/server/resp/throttle_job.h"

namespace headgate::server {
namespace {

// Stands before a client's key in the table, where keys of policies have the length of the policy's
// name. No policy has an empty name, so the two kinds of keys differ.
constexpr char no_policy = '\0';

// Name of these decisions in the lists of /v1/top, where others have their policy's name.
constexpr std::string_view listed_as = "throttle";

// Records a decision in the statistics and the decision log. `key`: as the store takes it.
void record(WorkerContext& worker, const PolicySnapshot& snapshot, const redis::ThrottleCall& call,
            const limit::Decision& decision, std::string_view key, Instant now, Instant began) {
  if (call.quantity <= 0) return;
  worker.stats().decided_alone(DoorKind::resp, snapshot, listed_as, key.substr(1), call.cost(),
                               call.admitted(decision), now, now.ns - began.ns);
  const bool helps = !decision.admitted && decision.wait != limit::Decision::never;
  worker.log(DoorKind::resp, snapshot,
             {.policy = listed_as,
              .partition = key.substr(1),
              .cost = call.cost(),
              .admitted = call.admitted(decision),
              .remaining = decision.remaining,
              .wait = helps ? std::optional(decision.retry_after()) : std::nullopt},
             key);
}

void write_reply(const Job& of, WorkerContext& worker, net::RespWriter& out) {
  const auto& job = static_cast<const ThrottleJob&>(of);
  out.integers(job.call.reply(job.limit, job.decision));
  record(worker, worker.in_force(), job.call, job.decision, job.key, worker.now(), job.began);
}

}  // namespace

ThrottleBatch::ThrottleBatch(WorkerContext& worker) : worker_(worker) {
  for (std::size_t i = 0; i < calls_max; ++i) {
    bundles_[i] = {{&charges_[i], 1}, {&decisions_[i], 1}};
  }
}

void ThrottleBatch::add(redis::ThrottleDialect dialect, std::span<const std::string_view> words,
                        std::string& replies, WaitingReplies& waiting) {
  const auto refuse = [&](std::string_view error) {
    flush();
    net::RespWriter(replies).error(error);
  };
  const auto call = redis::ThrottleCall::read(dialect, words);
  if (!call) return refuse(std::string(call.error().text) + std::string(call.error().shown));
  const redis::ThrottleLimit* limit = limits_.find(call->rate);
  if (limit == nullptr) {
    flush();  // a waiting call may point to the limit that make() replaces
    const auto made = limits_.make(call->rate);
    if (!made) return refuse("ERR " + std::string(made.error()));
    limit = *made;
  }
  if (worker_.answers().come_later()) {
    return decide_alone(*call, *limit, words[1], replies, waiting);
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
  const Instant began = worker_.now();
  worker_.engine().store().take(std::span(bundles_).first(count), began, {});
  for (std::size_t i = 0; i < count; ++i) {
    const Waiting& waiting = calls_[i];
    net::RespWriter(*waiting.replies).integers(waiting.call.reply(*waiting.limit, decisions_[i]));
  }
  const PolicySnapshot& snapshot = worker_.in_force();
  const Instant now = worker_.now();
  for (std::size_t i = 0; i < count; ++i) {
    record(worker_, snapshot, calls_[i].call, decisions_[i], charges_[i].key, now, began);
  }
}

void ThrottleBatch::decide_alone(const redis::ThrottleCall& call, const redis::ThrottleLimit& limit,
                                 std::string_view key, std::string& replies,
                                 WaitingReplies& waiting) {
  net::RespWriter out(replies);
  if (worker_.answers().is_full()) {
    return out.error("ERR " + std::string(WorkerContext::too_many_wait));
  }
  Job::Held<ThrottleJob> job(
      new ThrottleJob(worker_.answers(), call, limit, no_policy + std::string(key), worker_.now()));
  job->take(worker_.engine().store());
  if (job->is_decided()) return write_reply(*job, worker_, out);
  job->await(waiting.resume());
  waiting.push(std::move(job), write_reply, net::RespVersion::resp2);
}

}  // namespace headgate::server
