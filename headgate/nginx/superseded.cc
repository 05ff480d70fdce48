#include "headgate/nginx/superseded.h"

#include <atomic>
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
  const ModuleCounts& counts = conf.counters->module();
  conf.reloads_followed = counts.reloads.load(std::memory_order_acquire);
  const PolicyFile in_force = counts.policy_file;
  // Another reload may have come meanwhile: the next request follows that one.
  if (counts.reloads.load(std::memory_order_acquire) != conf.reloads_followed) return;
  if (in_force.path.front() == '\0') return;  // nothing is limited any more
  try {
    const std::string path = in_force.path.data();
    const PolicyFile found = PolicyFile::at(path);
    const policy::Loaded newer = policy::load_file(path);
    if (!newer) return log_kept(newer.error().front().text());
    if (found != in_force) return log_kept(path + " has changed since");
    conf.policies = conf.policies->with_numbers_of(**newer);
    make_in_force(conf);
  } catch (const std::exception& e) {  // only std::bad_alloc
    log_kept(e.what());
  }
}

}  // namespace headgate::nginx
