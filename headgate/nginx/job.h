// A decision under way: its working memory, and the request that it is for.
//
// Not thread-safe: each worker has its own.
#pragma once

#include <cstddef>
#include <memory>

#include "headgate/gate/decision_context.h"
#include "headgate/nginx/ngx.h"
#include "headgate/policy/request.h"

namespace headgate::nginx {

class Snapshot;

struct Job {
  gate::DecisionContext decision;
  bool decided = false;      // the store has answered
  bool outstanding = false;  // the store did not answer at once
  // While the decision is outstanding:
  const Snapshot* snapshot = nullptr;     // that decides, held
  ngx_http_request_t* request = nullptr;  // nullptr: it has ended
  policy::Response response;              // of a request that has ended
  ngx_event_t event{};                    // the answer, or the end of patience
  std::unique_ptr<Job> next;              // among those that are free
};

// The jobs of a worker. With a store that completes at once there is only one.
class Jobs {
 public:
  // Returns a job that is free until it is lent. nullptr: out of memory.
  [[nodiscard]] Job* spare() noexcept;

  // The spare job is in use until it is given back.
  void lend() noexcept;
  void give_back(Job* job) noexcept;

 private:
  // Kept after a peak of requests that waited. Most jobs have about 3 KiB, so this is 1 MiB or a
  // few.
  static constexpr std::size_t free_max = 256;

  std::unique_ptr<Job> free_;
  std::size_t free_count_ = 0;
};

}  // namespace headgate::nginx
