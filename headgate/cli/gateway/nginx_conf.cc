#include "headgate/cli/gateway/nginx_conf.h"

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

std::string trusted(const std::vector<policy::AddressBlock>& blocks) {
  std::string out = "  geo $headgate_trusted {\n    default 0;\n";
  for (const auto& block : blocks) out += "    " + block_text(block) + " 1;\n";
  return out + "  }\n";
}

std::string tls(const NginxPlan& plan) {
  if (!plan.upstream.tls) return "";
  std::string name = plan.upstream.host;
  if (name.starts_with('[')) name = name.substr(1, name.size() - 2);
  return "      proxy_ssl_server_name on;\n"
         "      proxy_ssl_name " +
         quoted(name) +
         ";\n"
         "      proxy_ssl_verify on;\n"
         "      proxy_ssl_verify_depth 4;\n"
         "      proxy_ssl_trusted_certificate " +
         quoted(plan.authorities) +
         ";\n"
         "      proxy_ssl_protocols TLSv1.2 TLSv1.3;\n";
}

std::string metrics(const NginxPlan& plan) {
  if (plan.metrics.empty()) return "";
  return "\n  server {\n"
         "    listen " +
         plan.metrics +
         ";\n"
         "    access_log off;\n"
         "    location = /metrics {\n"
         "      headgate off;\n"
         "      headgate_metrics;\n"
         "    }\n"
         "    location / {\n"
         "      headgate off;\n"
         "      return 404;\n"
         "    }\n"
         "  }\n";
}

}  // namespace

std::string nginx_conf(const NginxPlan& plan) {
  const Upstream& upstream = plan.upstream;
  const std::string to = upstream.host + ':' + std::to_string(upstream.port);
  // With a path the request's own URI is appended by name; nginx would normalise it otherwise.
  const std::string pass = std::string(upstream.tls ? "https" : "http") + "://headgate_upstream" +
                           (upstream.path.empty() ? "" : upstream.path + "$request_uri");
  return "# Written by `headgate gateway`, which removes it when it ends.\n"
         "load_module " +
         quoted(plan.module) + ";\n" + (plan.user.empty() ? "" : "user " + plan.user + ";\n") +
         "daemon off;\n"
         "pid nginx.pid;\n"
         "error_log stderr notice;  # headgate waits for some notices and shows warnings and "
         "worse\n"
         "worker_processes " +
         plan.workers +
         ";\n"
         "worker_shutdown_timeout 10s;\n"
         "events {\n"
         "  worker_connections " +
         std::to_string(plan.connections) +
         ";\n"
         "}\n"
         "http {\n"
         "  headgate_config " +
         quoted(plan.policy_file) +
         ";\n"
         "\n"
         "  client_body_temp_path tmp/body;\n"
         "  proxy_temp_path tmp/proxy;\n"
         "  fastcgi_temp_path tmp/fastcgi;\n"
         "  uwsgi_temp_path tmp/uwsgi;\n"
         "  scgi_temp_path tmp/scgi;\n"
         "\n"
         "  # The upstream says how long a body may be. Bodies are passed on as they come; only "
         "one "
         "that\n"
         "  # a policy counts and whose length nobody announced is kept until it is judged: in "
         "tmp, "
         "and\n"
         "  # up to the policy's quota.\n"
         "  client_max_body_size 0;\n"
         "  proxy_request_buffering off;\n"
         "  proxy_max_temp_file_size 0;\n"
         "\n"
         "  log_format headgate '$remote_addr - $remote_user [$time_local] \"$request\" '\n"
         "                      '$status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" "
         "'\n"
         "                      '$headgate_verdict \"$headgate_policy\"';\n"
         "  access_log " +
         (plan.access_log.empty() ? "off" : quoted(plan.access_log) + " headgate") +
         ";\n"
         "\n"
         "  # What a client says about proxies before it is passed on only if the policy file "
         "trusts\n"
         "  # the client; X-Forwarded-For is a list that everyone adds to.\n" +
         trusted(plan.trusted_proxies) +
         "  map $headgate_trusted $headgate_forwarded {\n"
         "    1 $http_forwarded;\n"
         "  }\n"
         "  map $headgate_trusted:$http_x_forwarded_proto $headgate_proto {\n"
         "    default $scheme;\n"
         "    ~^1:(?<headgate_said>.+) $headgate_said;\n"
         "  }\n"
         "  map $http_upgrade $headgate_connection {\n"
         "    default upgrade;\n"
         "    \"\" \"\";\n"
         "  }\n"
         "  # The upstream hears of the host that the policies saw: an absolute target's goes "
         "before\n"
         "  # the field (RFC 9112, section 3.2.2).\n"
         "  map $http_host $headgate_named {\n"
         "    default $http_host;\n"
         "    \"\" " +
         upstream.authority() +
         ";\n"
         "  }\n"
         "  map $request $headgate_host {\n"
         "    default $headgate_named;\n"
         "    \"~^[^ ]+ +[A-Za-z][A-Za-z0-9+.-]*://(?<headgate_authority>[^/?# ]+)\" "
         "$headgate_authority;\n"
         "  }\n"
         "\n"
         "  upstream headgate_upstream {\n"
         "    server " +
         to +
         ";\n"
         "    keepalive 128;\n"
         "    keepalive_timeout 4s;  # sooner than most servers' 5 s, so that we are the one to "
         "close\n"
         "  }\n"
         "\n"
         "  server {\n"
         "    listen " +
         plan.listen +
         ";\n"
         "    headgate on;\n"
         "    location / {\n"
         "      proxy_pass " +
         pass + ";\n" + tls(plan) +
         "      proxy_http_version 1.1;\n"
         "      proxy_redirect off;\n"
         "      proxy_pass_header Server;\n"
         "      proxy_pass_header Date;\n"
         "      proxy_set_header Host $headgate_host;\n"
         "      proxy_set_header Connection $headgate_connection;\n"
         "      proxy_set_header Upgrade $http_upgrade;\n"
         "      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n"
         "      proxy_set_header X-Forwarded-Proto $headgate_proto;\n"
         "      proxy_set_header Forwarded $headgate_forwarded;\n"
         "    }\n"
         "  }\n" +
         metrics(plan) + "}\n";
}

}  // namespace headgate::cli
