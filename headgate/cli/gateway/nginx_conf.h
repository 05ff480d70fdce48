// The nginx configuration of a gateway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/cli/gateway/upstream.h"
#include "headgate/policy/policy_set.h"

namespace headgate::cli {

// What the template's placeholders stand for.
struct NginxPlan {
  std::string module;       // path of the nginx module
  std::string policy_file;  // absolute
  std::string listen;       // numeric ADDR:PORT
  std::string tls_cert;  // certificate chain and key with which clients are served; empty: no TLS
  std::string tls_key;
  // Whether `http2` is a directive of its own, since nginx 1.25.1; before, a parameter of `listen`.
  bool http2_directive = false;
  // Whether nginx can keep certificates over reloads, if their files look the same.
  bool keeps_certificates = false;
  std::string metrics;            // numeric ADDR:PORT, for the dashboard, too; empty: neither
  bool metrics_is_local = false;  // on a loopback address
  std::string admin_token_file;   // absolute, of who may change quotas there; empty: nobody may
  std::string overrides_file;     // absolute; empty: no overrides beside those of the policy file
  Upstreams upstreams;
  std::size_t upstream_addresses = 1;  // count_addresses(upstreams)
  std::string workers = "auto";
  unsigned connections = 1024;             // at most, per worker
  unsigned connections_per_address = 256;  // the most of them from one address; 0: any number
  // A client that reads nothing of its response for so long is closed. nginx sees it read when a
  // third of the socket's buffer is free: 60 s let slow lines empty that.
  Nanos unread_timeout = 60 * nanos_per_second;
  Nanos response_timeout = 60 * nanos_per_second;  // how long an upstream may be silent
  std::optional<Nanos> drain;  // for requests in progress at a reload or stop; absent: no limit
  // The longest request body, which is read whole before it is forwarded [bytes]; absent: bodies of
  // any length are forwarded while they arrive.
  std::optional<std::uint64_t> body_max;
  std::string user;         // "NAME GROUP" of the workers; empty: the master's
  std::string access_log;   // file; empty: none
  bool logs_json = false;   // one JSON object per line, which `headgate simulate` reads
  std::string authorities;  // certificates against which an https upstream is verified
  std::vector<policy::AddressBlock> trusted_proxies;
  // The headers that policies read, in lower case. The upstream gets each as the one line that was
  // counted.
  std::vector<std::string> counted_headers;
  // Members of a JSON log, in JSON: the headers that policies read, of requests and of responses,
  // and those of the combined format.
  std::vector<std::string> logged_headers;

  // Sets what depends on the policy file.
  void follow(const policy::PolicySet& policies);
};

// Returns the text of nginx.conf. Its relative paths are below nginx's prefix.
[[nodiscard]] std::string nginx_conf(const NginxPlan& plan);

// nginx.conf.in, which cmake/embed.cmake puts into the program.
[[nodiscard]] std::string_view nginx_conf_template() noexcept;

}  // namespace headgate::cli
