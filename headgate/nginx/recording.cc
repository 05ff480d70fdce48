#include "headgate/nginx/recording.h"

#include <algorithm>
#include <exception>

#include "headgate/nginx/interval.h"

namespace headgate::nginx {
namespace {

// With the place of this worker; nullptr: it records nothing.
const WorkerStats* stats = nullptr;
WorkerStats::Place* own_place = nullptr;
// Without a place, one is looked for once per interval.
constexpr Interval claim_interval(1'000);
Interval between_claims = claim_interval;

bool has_place() noexcept {
  if (own_place != nullptr) return true;
  if (stats == nullptr || !between_claims.restart_if_over()) return false;
  own_place = stats->claim();
  return own_place != nullptr;
}

void open(ngx_cycle_t* cycle, MainConf& conf) noexcept {
  if (conf.in_force == nullptr || !conf.has_dashboard) return;
  const auto* core =
      reinterpret_cast<const ngx_core_conf_t*>(ngx_get_conf(cycle->conf_ctx, ngx_core_module));
  const MainConf* old = conf_of(cycle->old_cycle);
  try {
    conf.worker_stats =
        WorkerStats::open(static_cast<std::size_t>(std::max<ngx_int_t>(core->worker_processes, 1)),
                          old == nullptr ? nullptr : old->worker_stats);
  } catch (const std::exception&) {  // only std::bad_alloc
    ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                  "no memory for the statistics of headgate_dashboard, which stay empty");
  }
}

}  // namespace

void open_recording(ngx_cycle_t* cycle, MainConf& conf) noexcept {
  // Without a master, the one process goes from one configuration to the next.
  const bool goes_on = stats != nullptr;
  end_recording();
  open(cycle, conf);
  if (goes_on) begin_recording(conf);
}

void begin_recording(const MainConf& conf) noexcept {
  if (conf.worker_stats == nullptr) return;
  if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) return;
  stats = conf.worker_stats.get();
  if (!has_place()) {
    ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                  "no place in the statistics of headgate_dashboard for this worker until another "
                  "one ends");
  }
}

void end_recording() noexcept {
  if (own_place != nullptr)
    own_place->owner.store(WorkerStats::Place::given_up, std::memory_order_release);
  own_place = nullptr;
  stats = nullptr;
  between_claims = claim_interval;
}

void record(const Snapshot& snapshot, const gate::DecisionContext& decision) noexcept {
  if (has_place()) own_place->stats.decided(snapshot.labels(), decision, recording_time());
}

}  // namespace headgate::nginx
