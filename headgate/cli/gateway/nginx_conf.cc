#include "headgate/cli/gateway/nginx_conf.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "headgate/base/ascii.h"
#include "headgate/cli/gateway/template.h"

namespace headgate::cli {
namespace {

// A parameter in nginx's own quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + '"';
}

std::string block_text(const policy::AddressBlock& block) {
  char text[policy::Address::text_max];
  return {text, block.lowest.write(text, block.prefix)};
}

// With a path, nginx would normalise the request's URI; appended as a variable it stays untouched.
std::string proxy_pass(const Upstreams& upstreams) {
  const Upstream& upstream = upstreams.front();
  return std::string(upstream.tls ? "https" : "http") + "://headgate_upstream" +
         (upstream.path.empty() ? "" : upstream.path + "$request_uri");
}

// No value for an empty text, so that the template leaves out the block.
std::vector<std::string> optional(const std::string& text) {
  return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{text};
}

// The parameters of `listen`.
std::string listen(const NginxPlan& plan) {
  if (plan.tls_cert.empty()) return plan.listen;
  return plan.listen + (plan.http2_directive ? " ssl" : " ssl http2");
}

// The parameters of `access_log`.
std::string access_log(const NginxPlan& plan) {
  if (plan.access_log.empty()) return "off";
  return quoted(plan.access_log) + (plan.logs_json ? " headgate_json" : " headgate");
}

// The values of Host with which the dashboard is served.
std::string metrics_names(const NginxPlan& plan) {
  if (!plan.metrics_is_local) return "~^";  // any
  return R"(localhost *.localhost ~^[^.]+$ ~^127\.[0-9.]+$)";
}

// The directives of the dashboard's location.
std::string dashboard(const NginxPlan& plan) {
  if (plan.admin_token_file.empty()) return "headgate_dashboard;";
  return "headgate_dashboard; headgate_admin_token_file " + quoted(plan.admin_token_file) + ';';
}

// The size of the memory in which workers share what they know of several addresses. Each has two
// entries of less than 1 KiB.
std::string upstream_zone(std::size_t addresses) {
  return std::to_string(256 + 16 * addresses) + 'k';
}

std::string milliseconds(Nanos time) { return std::to_string(ceil_milliseconds(time)) + "ms"; }

// How long a connection to an upstream may take: enough for a SYN that is lost twice (it is sent
// again after 1 s and 3 s), and no longer than the upstream may be silent.
Nanos connect_timeout(const NginxPlan& plan) {
  return std::min(plan.response_timeout, 5 * nanos_per_second);
}

// Names with other characters mean something else in nginx.conf. Longer ones than the module has
// variables for (get_header()) are passed on as they come.
bool has_variable(const std::string& name) {
  constexpr std::size_t name_max = 256;
  return name.size() <= name_max && std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '-';
         });
}

// Whether the upstream can get this header as it was counted. The template sets some headers
// itself, and nginx those about the body. Cookies have several values on one line by themselves.
bool can_be_set(const std::string& name) {
  constexpr std::string_view others[] = {
      "connection",        "content-length", "cookie",          "expect",
      "forwarded",         "host",           "http2-settings",  "te",
      "transfer-encoding", "upgrade",        "x-forwarded-for", "x-forwarded-host",
      "x-forwarded-proto"};
  return std::find(std::begin(others), std::end(others), name) == std::end(others) &&
         has_variable(name);
}

// x-api-key is x_api_key in the names of variables.
std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The parameters of proxy_set_header: "x-api-key $headgate_http_x_api_key".
std::string counted_header(const std::string& name) {
  return name + " $headgate_http_" + underscored(name);
}

// A member of a JSON log: "http_x_plan":"$headgate_http_x_plan", by the name that the simulator
// reads.
std::string logged_header(const std::string& prefix, const std::string& variable,
                          const std::string& name) {
  return '"' + prefix + underscored(name) + "\":\"$" + variable + underscored(name) + '"';
}

}  // namespace

void NginxPlan::follow(const policy::PolicySet& policies) {
  trusted_proxies = policies.settings().client_address.trusted_proxies;
  counted_headers.clear();
  const policy::FieldsUsed used = policies.fields_used();
  for (const std::string& name : used.request_headers) {
    if (can_be_set(name)) counted_headers.push_back(name);
  }
  logged_headers.clear();
  std::set<std::string> logged = used.request_headers;
  logged.insert({"referer", "user-agent"});  // as in the combined format
  for (const std::string& name : logged) {
    if (has_variable(name))
      logged_headers.push_back(logged_header("http_", "headgate_http_", name));
  }
  for (const std::string& name : used.response_headers) {
    if (has_variable(name)) {
      logged_headers.push_back(logged_header("upstream_http_", "upstream_http_", name));
    }
  }
}

// Paths are put in quotes. Everything else is safe without: parse_upstream() admits only characters
// that mean nothing to nginx, addresses are numeric, and users and workers are checked words.
std::string nginx_conf(const NginxPlan& plan) {
  const bool tls = !plan.tls_cert.empty();
  const bool upstream_tls = plan.upstreams.front().tls;
  const std::size_t addresses = plan.upstream_addresses;
  TemplateValues values = {
      {"module", {quoted(plan.module)}},
      {"user", optional(plan.user)},
      {"workers", {plan.workers}},
      {"connections", {std::to_string(plan.connections)}},
      {"connections_per_address", {std::to_string(plan.connections_per_address)}},
      {"connect_timeout", {milliseconds(connect_timeout(plan))}},
      {"response_timeout", {milliseconds(plan.response_timeout)}},
      {"unread_timeout", {milliseconds(plan.unread_timeout)}},
      {"drain", optional(plan.drain ? milliseconds(*plan.drain) : "")},
      {"body_max", optional(plan.body_max ? std::to_string(*plan.body_max) : "")},
      {"streams", optional(plan.body_max ? "" : "1")},
      {"policy_file", {quoted(plan.policy_file)}},
      {"access_log", {access_log(plan)}},
      {"logged_header", plan.logged_headers},
      {"trusted_proxy", {}},
      {"counted_header", {}},
      {"listen", {listen(plan)}},
      {"keeps_certificates", optional(tls && plan.keeps_certificates ? "1" : "")},
      {"http2", optional(tls && plan.http2_directive ? "on" : "")},
      {"tls_cert", optional(tls ? quoted(plan.tls_cert) : "")},
      {"tls_key", optional(tls ? quoted(plan.tls_key) : "")},
      {"metrics", optional(plan.metrics)},
      {"metrics_names", {metrics_names(plan)}},
      {"dashboard", {dashboard(plan)}},
      {"overrides_file", optional(plan.overrides_file.empty() ? "" : quoted(plan.overrides_file))},
      {"upstream_host", {plan.upstreams.front().host}},
      {"upstream_authority", {plan.upstreams.front().authority()}},
      {"upstream_zone", optional(addresses > 1 ? upstream_zone(addresses) : "")},
      {"upstream_server", {}},
      {"upstream_spare", {}},
      {"upstream_tries", optional(addresses > 1 ? std::to_string(addresses) : "")},
      {"upstream_url", {proxy_pass(plan.upstreams)}},
      {"tls_name", optional(upstream_tls ? quoted(plan.upstreams.front().bare_host()) : "")},
      {"authorities", {quoted(plan.authorities)}},
  };
  for (const Upstream& upstream : plan.upstreams) {
    values["upstream_server"].push_back(upstream.host + ':' + std::to_string(upstream.port));
  }
  if (addresses > 1) values["upstream_spare"] = values["upstream_server"];
  std::set<std::string> trusted;  // nginx warns of addresses that come twice
  for (const auto& block : plan.trusted_proxies) trusted.insert(block_text(block));
  values["trusted_proxy"].assign(trusted.begin(), trusted.end());
  for (const std::string& name : plan.counted_headers) {
    values["counted_header"].push_back(counted_header(name));
  }
  return fill_template(nginx_conf_template(), values);
}

}  // namespace headgate::cli
