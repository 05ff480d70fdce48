// What this worker records of its decisions for the dashboard.
#pragma once

#include "headgate/base/instant.h"
#include "headgate/gate/decision_context.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// To be called when a configuration comes into force, before the workers start: opens the memory
// that they share, or takes over that of the previous configuration. Only for a configuration with
// a dashboard. Without memory, logs that and goes on without statistics.
void open_recording(ngx_cycle_t* cycle, MainConf& conf) noexcept;

// To be called when a worker starts and ends.
void begin_recording(const MainConf& conf) noexcept;
void end_recording() noexcept;

// Records a decision of the snapshot's gate, if this worker records any.
void record(const Snapshot& snapshot, const gate::DecisionContext& decision) noexcept;

// The clock of the statistics: the same for all processes, and read once per turn of nginx's loop.
[[nodiscard]] inline Instant recording_time() noexcept {
  return {static_cast<Nanos>(ngx_current_msec) * 1'000'000};
}

}  // namespace headgate::nginx
