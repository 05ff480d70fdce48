// The module's configuration, with the table and the counters that workers share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headgate/nginx/counters.h"
#include "headgate/nginx/ngx.h"
#include "headgate/nginx/pipe_hold.h"
#include "headgate/nginx/policy_file.h"
#include "headgate/nginx/snapshot.h"
#include "headgate/nginx/worker_stats.h"
#include "headgate/policy/live/kept_overrides.h"
#include "headgate/policy/policy_set.h"
#include "headgate/redis/policy_store.h"
#include "headgate/store/store.h"
#include "headgate/store/table.h"

// Named by the list of modules that nginx's configure generates for this library.
extern "C" __attribute__((visibility("hidden"))) ngx_module_t ngx_http_headgate_module;

namespace headgate::nginx {

// headgate_memory
struct Memory {
  std::size_t bytes;
  std::string file;  // empty: memory without a file
};

// http{}
struct MainConf {
  std::shared_ptr<const policy::PolicySet> policies;  // null without headgate_config
  std::string policy_file;
  PolicyFile read_from;       // `policy_file` as it was
  std::uint64_t reading = 1;  // grows by 1 with each reload
  // ModuleCounts::reloads of the last one whose numbers are in `policies`.
  std::uint64_t reloads_followed = 0;
  std::optional<Memory> memory;
  store::TableOptions table_options;  // with which `table` was opened
  std::shared_ptr<store::Table> table;
  std::shared_ptr<Counters> counters;
  // Of the configuration that this one is to replace, until it has. If this one ends before that,
  // for a fault anywhere in nginx.conf or a file that it names, a refused reload is counted there.
  std::shared_ptr<Counters> replaces;
  // Of a policy file with Redis; ends before what it uses.
  std::shared_ptr<redis::PolicyStore> redis;
  std::shared_ptr<store::Store> store;  // that decides
  bool waits = false;                   // ... and which does not always complete at once
  std::string overrides_file;           // headgate_overrides; empty: none
  policy::KeptOverrides overrides{"", ""};
  Snapshot::Held in_force;                    // null until all of the above is open
  bool has_dashboard = false;                 // headgate_dashboard
  std::shared_ptr<WorkerStats> worker_stats;  // null without a dashboard
  ngx_open_file_t* decision_log = nullptr;    // in memory of nginx's cycle
  PipeHold decision_pipe;                     // if that is one
  bool reads_bodies = false;                  // a policy's cost is the length of the request's body
  std::optional<std::uint32_t> connections_per_address;  // at each worker; 0 or absent: any
};

struct LocConf {
  ngx_flag_t on;
  ngx_flag_t dry_run;
  ngx_flag_t unbuffered_events;
  ngx_str_t admin_token;  // empty: none
};

[[nodiscard]] inline MainConf& main_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<MainConf*>(ngx_http_get_module_main_conf(r, ngx_http_headgate_module));
}

[[nodiscard]] inline LocConf& loc_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<LocConf*>(ngx_http_get_module_loc_conf(r, ngx_http_headgate_module));
}

// To be called when all directives have been read: opens the table and the counters, or takes over
// those of the previous configuration. Returns false after logging the reason.
[[nodiscard]] bool open(ngx_conf_t* cf, MainConf& conf) noexcept;

// Returns the store with which the gate decides: of those that are open.
[[nodiscard]] std::shared_ptr<store::Store> deciding_store(const MainConf& conf);
// How long a request waits for that store [ms].
[[nodiscard]] ngx_msec_t patience() noexcept;

// Returns this module's part of a configuration. nullptr if there is none, or if it belongs to
// another build of the module, which has other types.
[[nodiscard]] MainConf* conf_of(const ngx_cycle_t* cycle) noexcept;

// Counts a reload, when the new configuration `conf` is in force, and warns if it has another
// table. `conf` may be null.
void count_reload(const ngx_cycle_t* cycle, MainConf* conf) noexcept;

// Callbacks of ngx_http_module_t and ngx_command_t.
extern "C" {
void* create_main_conf(ngx_conf_t* cf) noexcept;
void* create_loc_conf(ngx_conf_t* cf) noexcept;
char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;
char* set_config(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_memory(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_connections_per_address(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
}

}  // namespace headgate::nginx
