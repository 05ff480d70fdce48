#include "headgate/nginx/conf.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/regular_file.h"
#include "headgate/gate/table_change.h"
#include "headgate/gate/table_options.h"
#include "headgate/nginx/dashboard.h"
#include "headgate/nginx/overrides.h"
#include "headgate/policy/file/load.h"

namespace headgate::nginx {
namespace {

extern "C" void destroy_main_conf(void* of) noexcept {
  auto* conf = static_cast<MainConf*>(of);
  if (conf->replaces) {
    conf->replaces->module().refused_reloads.fetch_add(1, std::memory_order_relaxed);
  }
  conf->~MainConf();
}

// That of the configuration that is being replaced.
MainConf* previous_conf(const ngx_cycle_t* cycle) noexcept { return conf_of(cycle->old_cycle); }

char* fault(ngx_conf_t* cf, std::string_view text) noexcept {
  ngx_str_t shown = as_ngx_str(text);
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V", &shown);
  return static_cast<char*>(NGX_CONF_ERROR);
}

// Whether this process is to test the configuration (`nginx -t`) or to send a signal (`nginx -s`),
// and serves nothing.
bool only_reads_configuration() noexcept {
  return ngx_test_config != 0 || ngx_process == NGX_PROCESS_SIGNALLER;
}

char* duplicate() noexcept { return const_cast<char*>("is duplicate"); }

// Whether the table of the previous configuration is that of the new one, too. One in a file may be
// larger, unless the file was removed to get a smaller one.
bool is_kept(const MainConf& old, const store::TableOptions& wanted) {
  if (old.table == nullptr || !is_same_file(old.table_options.file, wanted.file)) return false;
  if (wanted.file.empty()) return old.table_options.memory <= wanted.memory;
  const store::TableStats table = old.table->stats();
  return table.memory <= wanted.memory || !table.file_lost;
}

// Opens the table, or takes over that of the previous configuration, which grows if a larger one is
// wanted. Returns false after logging the reason.
bool open_table(ngx_conf_t* cf, MainConf& conf, const MainConf* old) {
  conf.table_options = gate::table_options(*conf.policies);
  if (conf.memory) {
    conf.table_options.memory = conf.memory->bytes;
    conf.table_options.file = conf.memory->file;
  }
  if (only_reads_configuration()) {
    conf.table_options.grow = false;
    conf.table_options.sharing = store::Sharing::threads;  // whose memory is not allocated at once
  }
  if (old != nullptr && is_kept(*old, conf.table_options)) {
    if (const auto grown = old->table->grow(conf.table_options); !grown) {
      fault(cf, grown.error());
      return false;
    }
    conf.table = old->table;
    return true;
  }
  auto opened = store::Table::open(conf.table_options);
  if (!opened) {
    fault(cf, opened.error());
    return false;
  }
  conf.table = *std::move(opened);
  if (!conf.table_options.file.empty()) store::FileGuard::watch();  // also in the workers
  return true;
}

// At the level of errors, which nginx logs by default.
void warn(ngx_conf_t* cf, const std::string& warning) {
  if (warning.empty()) return;
  ngx_str_t shown = as_ngx_str(warning);
  ngx_conf_log_error(NGX_LOG_ERR, cf, 0, "headgate: %V", &shown);
}

void warn_of_table(ngx_conf_t* cf, const MainConf& conf) {
  const store::TableStats table = conf.table->stats();
  warn(cf, gate::size_warning(table, conf.table_options));
  if (only_reads_configuration()) return;  // and has not made the table larger
  warn(cf, gate::division_warning(table, *conf.policies));
}

// All at the level of errors, which nginx logs by default: who sees the first line waits for the
// others.
void log_outage(bool, const std::string& line) {
  ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "headgate: %s", line.c_str());
}

// Opens the store of a policy file with Redis. Returns false after logging the reason.
bool open_redis(ngx_conf_t* cf, MainConf& conf) {
  const auto& settings = conf.policies->settings().redis;
  if (!settings) return true;
  auto opened =
      redis::PolicyStore::open(*settings, *conf.table, conf.counters->module().redis, log_outage);
  if (!opened) {
    fault(cf, opened.error());
    return false;
  }
  conf.redis = *std::move(opened);
  return true;
}

// Whether keys in one Redis may be in the other one, too.
bool share_keys(const std::optional<policy::RedisSettings>& one,
                const std::optional<policy::RedisSettings>& other) noexcept {
  if (!one || !other) return one.has_value() == other.has_value();
  return one->prefix == other->prefix && one->cluster == other->cluster &&
         one->sentinel == other->sentinel &&
         std::find_first_of(one->nodes.begin(), one->nodes.end(), other->nodes.begin(),
                            other->nodes.end()) != one->nodes.end();
}

}  // namespace

MainConf* conf_of(const ngx_cycle_t* cycle) noexcept {
  if (cycle == nullptr || cycle->conf_ctx == nullptr || cycle->modules == nullptr) return nullptr;
  ngx_module_t** last = cycle->modules + cycle->modules_n;
  if (std::find(cycle->modules, last, &ngx_http_headgate_module) == last) return nullptr;
  const auto* http = reinterpret_cast<ngx_http_conf_ctx_t*>(cycle->conf_ctx[ngx_http_module.index]);
  if (http == nullptr) return nullptr;
  return static_cast<MainConf*>(http->main_conf[ngx_http_headgate_module.ctx_index]);
}

bool open(ngx_conf_t* cf, MainConf& conf) noexcept {
  try {
    const MainConf* old = previous_conf(cf->cycle);
    if (!open_table(cf, conf, old)) return false;
    warn_of_table(cf, conf);
    conf.counters =
        Counters::open(conf.policies->names(), old == nullptr ? nullptr : old->counters);
    if (!open_redis(cf, conf)) return false;
    conf.store = deciding_store(conf);
    conf.waits = !conf.store->completes_at_once();
    if (const auto opened = open_overrides(conf); !opened) {
      fault(cf, opened.error());
      return false;
    }
    conf.reads_bodies = conf.policies->needs_body_bytes();
    return true;
  } catch (const std::exception& e) {
    fault(cf, e.what());
    return false;
  }
}

void count_reload(const ngx_cycle_t* cycle, MainConf* conf) noexcept {
  const MainConf* old = previous_conf(cycle);
  if (old == nullptr || old->in_force == nullptr) return;
  ModuleCounts& counts = old->counters->module();
  counts.policy_file = conf != nullptr ? conf->read_from : PolicyFile{};
  const std::uint64_t reloads = 1 + counts.reloads.fetch_add(1, std::memory_order_release);
  counts.last_reload.store(static_cast<std::uint64_t>(ngx_time()), std::memory_order_relaxed);
  if (conf == nullptr) return;
  conf->replaces.reset();
  if (conf->in_force == nullptr) return;
  conf->reading = 1 + reloads;
  conf->reloads_followed = reloads;
  const bool has_table = conf->table == old->table;
  const bool has_redis =
      share_keys(old->policies->settings().redis, conf->policies->settings().redis);
  if (has_table && has_redis) return;
  counts.tables_changed.fetch_add(1, std::memory_order_relaxed);
  if (!has_table) {
    ngx_log_error(NGX_LOG_WARN, cycle->log, 0,
                  "the table has another size or file: quotas kept in the old one are lost");
  }
  if (!has_redis) {
    ngx_log_error(
        NGX_LOG_WARN, cycle->log, 0,
        "store: redis is not the one of before: quotas that machines share are full again");
  }
}

void* create_main_conf(ngx_conf_t* cf) noexcept {
  ngx_pool_cleanup_t* owner = ngx_pool_cleanup_add(cf->pool, sizeof(MainConf));
  if (owner == nullptr) return nullptr;
  owner->handler = destroy_main_conf;
  auto* conf = new (owner->data) MainConf;
  const MainConf* old = previous_conf(cf->cycle);
  if (old != nullptr && old->in_force != nullptr) conf->replaces = old->counters;
  return conf;
}

void* create_loc_conf(ngx_conf_t* cf) noexcept {
  auto* conf = static_cast<LocConf*>(ngx_palloc(cf->pool, sizeof(LocConf)));
  if (conf == nullptr) return nullptr;
  conf->on = NGX_CONF_UNSET;
  conf->dry_run = NGX_CONF_UNSET;
  conf->unbuffered_events = NGX_CONF_UNSET;
  conf->admin_token = {};
  return conf;
}

char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
  const auto* outer = static_cast<LocConf*>(parent);
  auto* conf = static_cast<LocConf*>(child);
  ngx_conf_merge_value(conf->on, outer->on, 0);
  ngx_conf_merge_value(conf->dry_run, outer->dry_run, 0);
  ngx_conf_merge_value(conf->unbuffered_events, outer->unbuffered_events, 0);
  const auto* core = static_cast<const ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  if (conf->admin_token.len > 0 && !has_dashboard(core)) {
    return fault(cf, "\"headgate_admin_token_file\" needs \"headgate_dashboard\" in its location");
  }
  const auto* main =
      static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_headgate_module));
  if (main->policies == nullptr && (conf->on || conf->unbuffered_events)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%s on\" needs \"headgate_config FILE\"",
                       conf->on ? "headgate" : "headgate_unbuffered_events");
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  return NGX_CONF_OK;
}

char* set_config(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* main = static_cast<MainConf*>(conf);
  if (main->policies != nullptr) return duplicate();
  ngx_str_t path = static_cast<ngx_str_t*>(cf->args->elts)[1];
  if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) return fault(cf, "out of memory");
  try {
    main->policy_file = view(path);
    main->read_from = PolicyFile::at(main->policy_file);
    policy::Loaded loaded = policy::load_file(main->policy_file);
    if (loaded) {
      main->policies = *std::move(loaded);
      for (const policy::Fault& each : main->policies->warnings()) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "%s", each.text().c_str());
      }
      return NGX_CONF_OK;
    }
    for (const policy::Fault& each : loaded.error()) fault(cf, each.text());
    return static_cast<char*>(NGX_CONF_ERROR);
  } catch (const std::exception& e) {
    return fault(cf, e.what());
  }
}

char* set_memory(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* main = static_cast<MainConf*>(conf);
  if (main->memory) return duplicate();
  auto* args = static_cast<ngx_str_t*>(cf->args->elts);
  const off_t size = ngx_parse_offset(&args[1]);
  if (size <= 0) {
    return fault(cf, "headgate_memory: expected a size in bytes, or with k, m or g");
  }
  try {
    main->memory = Memory{static_cast<std::size_t>(size), {}};
    if (cf->args->nelts == 3) {
      ngx_str_t path = args[2];
      if (ngx_conf_full_name(cf->cycle, &path, 0) != NGX_OK) return fault(cf, "out of memory");
      main->memory->file = view(path);
    }
  } catch (const std::exception& e) {
    return fault(cf, e.what());
  }
  return NGX_CONF_OK;
}

char* set_connections_per_address(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* main = static_cast<MainConf*>(conf);
  if (main->connections_per_address) return duplicate();
  const ngx_str_t& text = static_cast<ngx_str_t*>(cf->args->elts)[1];
  const ngx_int_t number = ngx_atoi(text.data, text.len);
  if (number < 0 || number > 1'000'000) {
    return fault(cf, "headgate_connections_per_address: expected 0 (any number) to 1000000");
  }
  main->connections_per_address = static_cast<std::uint32_t>(number);
  return NGX_CONF_OK;
}

}  // namespace headgate::nginx
