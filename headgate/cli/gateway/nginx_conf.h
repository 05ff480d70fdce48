// The nginx configuration of a gateway.
#pragma once

#include <string>
#include <vector>

#include "headgate/cli/gateway/upstream.h"
#include "headgate/policy/settings.h"

namespace headgate::cli {

// Everything a gateway's nginx is told.
struct NginxPlan {
  std::string module;       // path of the nginx module
  std::string policy_file;  // absolute
  std::string listen;       // numeric ADDR:PORT
  std::string metrics;      // the same; empty: no metrics
  Upstream upstream;
  std::string workers = "auto";
  unsigned connections = 1024;  // of one worker
  std::string user;             // "NAME GROUP" of the workers; empty: as the master
  std::string access_log;       // file; empty: none
  std::string authorities;      // file with the certificates that an https upstream is held against
  std::vector<policy::AddressBlock> trusted_proxies;
};

// The configuration's text. Relative paths in it are in nginx's prefix, a directory of its own.
[[nodiscard]] std::string nginx_conf(const NginxPlan& plan);

}  // namespace headgate::cli
