#include "headgate/nginx/overrides.h"

#include <exception>
#include <utility>

#include "headgate/policy/live/kept_overrides.h"

namespace headgate::nginx {
namespace {

// Between two looks at the file, each of which is one stat(): a change is in force in all workers
// well within a second.
constexpr ngx_msec_t interval = 250;

constexpr char without_file[] =
    "this nginx has no file that keeps overrides; expected headgate_overrides FILE in nginx.conf "
    "(of headgate gateway: --overrides-file FILE)";

ngx_event_t timer{};

// Of all workers, the first one logs and counts what each of them sees. After a reload, that is not
// one of those before, which may take long to finish their requests.
bool is_reporter() noexcept { return ngx_worker == 0 && ngx_exiting == 0; }

void report(const policy::KeptOverrides::News& news, const MainConf& conf) noexcept {
  if (!is_reporter()) return;
  for (const std::string& line : news.lines) {
    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "headgate: %s", line.c_str());
  }
  if (news.fault.empty()) return;
  conf.counters->module().refused_override_files.fetch_add(1, std::memory_order_relaxed);
  ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "headgate: %s", news.fault.c_str());
}

extern "C" void follow_overrides(ngx_event_t*) noexcept {
  MainConf* const conf = conf_of(const_cast<const ngx_cycle_t*>(ngx_cycle));
  if (conf != nullptr && conf->in_force != nullptr) {
    try {
      const auto news = conf->overrides.follow(unix_now());
      put_in_force(*conf);
      report(news, *conf);
    } catch (const std::exception&) {  // only std::bad_alloc; the next look tries again
      ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "no memory to follow headgate_overrides");
    }
  }
  ngx_add_timer(&timer, interval);
}

}  // namespace

Result<void, std::string> open_overrides(MainConf& conf) {
  conf.overrides = policy::KeptOverrides(conf.overrides_file, without_file);
  if (auto opened = conf.overrides.open(unix_now()); !opened) return opened;
  put_in_force(conf);
  return {};
}

void put_in_force(MainConf& conf) {
  const bool is_change = conf.in_force != nullptr;
  if (is_change && conf.in_force->changes() == conf.overrides.changes()) return;
  make_in_force(conf);
  if (is_change && is_reporter()) {
    conf.counters->module().override_changes.fetch_add(1, std::memory_order_relaxed);
  }
}

void make_in_force(MainConf& conf) {
  const policy::KeptOverrides& kept = conf.overrides;
  policy::Overridden overridden{conf.policies, {}};
  if (!kept.all().empty()) overridden = conf.policies->with(kept.all());
  conf.in_force = Snapshot::make(
      std::move(overridden.policies), {kept.all(), std::move(overridden.faults)}, kept.changes(),
      conf.in_force.get(), *conf.store, conf.table->secret(), conf.counters->shards());
}

void begin_following(const MainConf& conf) noexcept {
  // A process without a master goes from one configuration to the next, which may have a file.
  const bool may_follow = ngx_process == NGX_PROCESS_SINGLE ||
                          (ngx_process == NGX_PROCESS_WORKER && !conf.overrides_file.empty());
  if (!may_follow || timer.timer_set) return;
  timer.handler = follow_overrides;
  timer.data = &timer;
  timer.log = ngx_cycle->log;
  timer.cancelable = 1;      // a worker that is to exit does not wait for it
  follow_overrides(&timer);  // the file may be newer than what the master has read
}

char* set_overrides(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* main = static_cast<MainConf*>(conf);
  if (!main->overrides_file.empty()) return const_cast<char*>("is duplicate");
  ngx_str_t path = static_cast<ngx_str_t*>(cf->args->elts)[1];
  if (path.len == 0 || ngx_conf_full_name(cf->cycle, &path, 0) != NGX_OK) {
    return const_cast<char*>("expected the name of a file");
  }
  try {
    main->overrides_file = view(path);
  } catch (const std::exception&) {  // only std::bad_alloc
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  return NGX_CONF_OK;
}

}  // namespace headgate::nginx
