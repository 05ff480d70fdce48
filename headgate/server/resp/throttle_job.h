// One call of CL.THROTTLE or THROTTLE whose decision may come later.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "headgate/redis/throttle/throttle_call.h"
#include "headgate/redis/throttle/throttle_limits.h"
#include "headgate/server/job.h"
#include "headgate/store/store.h"

namespace headgate::server {

// Made by new.
class ThrottleJob final : public Job {
 public:
  // `key`: as the store takes it. Throws std::bad_alloc.
  ThrottleJob(Answers& answers, const redis::ThrottleCall& the_call,
              const redis::ThrottleLimit& its_limit, std::string its_key, Instant now)
      : Job(answers),
        call(the_call),
        limit(its_limit),
        key(std::move(its_key)),
        began(now),
        charge_{&limit.law, key, call.cost(), call.op()} {}

  void take(store::Store& store) noexcept { store.take({&bundle_, 1}, moment_, begin()); }

  const redis::ThrottleCall call;
  const redis::ThrottleLimit limit;  // a copy: the cache may replace its own
  const std::string key;
  const Instant began;  // by the clock of WorkerContext::now()
  limit::Decision decision;

 private:
  void end() noexcept override { delete this; }

  const store::Charge charge_;
  store::Bundle bundle_{{&charge_, 1}, {&decision, 1}};
  std::optional<Instant> moment_;
};

}  // namespace headgate::server
