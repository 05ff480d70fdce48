// Apart from conf.cc, so that tests can build the module with a store that answers later
// (testing/late_store.cc).

#include "headgate/nginx/conf.h"

namespace headgate::nginx {

std::shared_ptr<store::Store> deciding_store(const MainConf& conf) {
  if (conf.redis != nullptr) return conf.redis;
  return conf.table;
}

// A store that answers later has a far shorter time-out of its own. This one bounds how long a
// request waits, and how long an old worker lives after a reload, if the store fails to answer.
ngx_msec_t patience() noexcept { return 10'000; }

}  // namespace headgate::nginx
