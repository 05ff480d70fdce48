#include "headgate/nginx/superseded.h"

#include <exception>
#include <string>

#include "headgate/nginx/overrides.h"
#include "headgate/policy/file/load.h"

namespace headgate::nginx {
namespace {

void log_kept(const std::string& why) noexcept {
  ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                "headgate: requests that came before the reload keep the former numbers: %s",
                why.c_str());
}

}  // namespace

void take_new_numbers(MainConf& conf) noexcept {
  conf.reloads_followed = conf.counters->module().reloads.load(std::memory_order_relaxed);
  try {
    const policy::Loaded newer = policy::load_file(conf.policy_file);
    if (!newer) return log_kept(newer.error().front().text());
    conf.policies = conf.policies->with_numbers_of(**newer);
    make_in_force(conf);
  } catch (const std::exception& e) {  // only std::bad_alloc
    log_kept(e.what());
  }
}

}  // namespace headgate::nginx
