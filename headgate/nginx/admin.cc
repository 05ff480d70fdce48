#include "headgate/nginx/admin.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

#include "headgate/net/bearer.h"
#include "headgate/net/same_secret.h"
#include "headgate/net/token_file.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/inspection.h"
#include "headgate/nginx/nginx_request.h"
#include "headgate/nginx/overrides.h"
#include "headgate/nginx/send.h"
#include "headgate/nginx/wrong_token.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/view/overrides_page.h"
#include "headgate/view/partition_path.h"
#include "headgate/view/problem_page.h"

namespace headgate::nginx {
namespace {

using view::PartitionPath;

// Of a PUT's body [bytes]: an override with a reason of the longest kind, each byte as \u00xx, has
// less than 2 KiB.
constexpr std::size_t body_max = std::size_t{16} << 10;

// The target's path as it was sent: policy and key are percent-encoded in it.
std::string_view sent_path(const ngx_http_request_t* r) noexcept {
  const std::string_view target = view(r->unparsed_uri);
  return target.substr(0, target.find_first_of("?#"));
}

// Who has sent the request, for the log.
std::string sender_of(const ngx_http_request_t* r) {
  const auto peer = peer_of(r->connection);
  if (!peer) return "a Unix socket";
  char text[policy::Address::text_max];
  return {text, peer->write(text, peer->bits())};
}

// Who has changed what, at a level that nginx logs at `error_log ... notice`.
void log_change(const ngx_http_request_t* r, const std::string& what) noexcept {
  ngx_log_error(NGX_LOG_NOTICE, r->connection->log, 0, "headgate: %s", what.c_str());
}

// The token that a request shows: in Authorization, or in a field of our own, so that Authorization
// may be for nginx.
std::optional<std::string_view> token_of(const ngx_http_request_t* r) noexcept {
  const NginxHeaders headers{r->headers_in.headers};
  const auto own = headers.line("x-headgate-token", 0);
  return own ? own : net::bearer_token(headers.line("authorization", 0).value_or(""));
}

// Answers a request that may not change anything. Returns std::nullopt if it may.
std::optional<ngx_int_t> refuse_sender(ngx_http_request_t* r) {
  const std::string_view token = view(loc_conf(r).admin_token);
  if (token.empty()) {
    return send_page(
        r,
        view::problem_page(403,
                           "this needs an admin token, which this location does not have; expected "
                           "headgate_admin_token_file FILE in nginx.conf (of headgate gateway: "
                           "--admin-token-file FILE)"));
  }
  const auto shown = token_of(r);
  if (shown && net::same_secret(*shown, token)) return std::nullopt;
  add_field(r, "WWW-Authenticate", "Bearer realm=\"headgate\"");
  const view::Page page = view::problem_page(
      401, "expected Authorization: Bearer TOKEN, with the token of headgate_admin_token_file");
  return shown ? refuse_wrong_token(r, page) : send_page(r, page);
}

// The body of a request that was read. Throws std::bad_alloc; std::nullopt: it cannot be read, or
// is too long.
std::optional<std::string> body_of(ngx_http_request_t* r) {
  std::string body;
  if (r->request_body == nullptr) return body;
  for (const ngx_chain_t* link = r->request_body->bufs; link != nullptr; link = link->next) {
    ngx_buf_t& buf = *link->buf;
    const auto size = static_cast<std::size_t>(ngx_buf_size(&buf));
    if (size > body_max - body.size()) return std::nullopt;
    const std::size_t at = body.size();
    body.resize(at + size);
    auto* const to = reinterpret_cast<u_char*>(body.data()) + at;
    if (!buf.in_file) {
      std::copy(buf.pos, buf.last, to);
    } else if (ngx_read_file(buf.file, to, size, buf.file_pos) != static_cast<ssize_t>(size)) {
      return std::nullopt;
    }
  }
  return body;
}

constexpr std::string_view state_path = "v1/state/";
constexpr std::string_view overrides_path = "v1/overrides";
constexpr std::string_view override_path = "v1/overrides/";

// The partition in a path of which `prefix` and `head` are the beginning.
Result<PartitionPath, std::string> partition_of(const ngx_http_request_t* r,
                                                std::string_view prefix, std::string_view head) {
  return PartitionPath::read(sent_path(r), std::string(prefix).append(head));
}

std::string_view prefix_of(ngx_http_request_t* r) noexcept {
  return view(static_cast<const ngx_http_core_loc_conf_t*>(
                  ngx_http_get_module_loc_conf(r, ngx_http_core_module))
                  ->name);
}

view::Page set_override(ngx_http_request_t* r) {
  MainConf& conf = main_conf(r);
  const auto partition = partition_of(r, prefix_of(r), override_path);
  if (!partition) return view::problem_page(404, partition.error());
  const auto body = body_of(r);
  if (!body) {
    return view::problem_page(413,
                              "expected a body of at most " + std::to_string(body_max) + " bytes");
  }
  const std::uint64_t now = unix_now();
  const auto override = view::read_override_request(*partition, {*body, sender_of(r), now},
                                                    conf.in_force->policies());
  if (!override) return override.error();
  if (const auto set = conf.overrides.set(*conf.policies, *override, now); !set) {
    return view::refusal_page(set.error());
  }
  put_in_force(conf);
  log_change(r, override->by + " sets the override " + policy::json_of(*override));
  return view::override_page(*override);
}

view::Page remove_override(ngx_http_request_t* r, const PartitionPath& partition) {
  MainConf& conf = main_conf(r);
  const auto removed =
      conf.overrides.remove(*conf.policies, partition.policy, partition.key, unix_now());
  if (!removed) return view::refusal_page(removed.error());
  put_in_force(conf);
  if (!*removed) return view::no_override_page(partition);
  log_change(r, sender_of(r) + " removes the override " + policy::json_of(**removed));
  return view::override_page(**removed);
}

extern "C" void override_was_read(ngx_http_request_t* r) noexcept {
  ngx_int_t rc = NGX_HTTP_INTERNAL_SERVER_ERROR;
  try {
    rc = send_page(r, set_override(r));
  } catch (const std::exception&) {  // only std::bad_alloc
  }
  ngx_http_finalize_request(r, rc);
}

ngx_int_t answer_state(ngx_http_request_t* r, std::string_view prefix) {
  const bool resets = r->method == NGX_HTTP_DELETE;
  if (!resets && (r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) return NGX_HTTP_NOT_ALLOWED;
  if (resets) {
    if (const auto refused = refuse_sender(r)) return *refused;
  }
  const auto partition = partition_of(r, prefix, state_path);
  if (!partition) return send_page(r, view::problem_page(404, partition.error()));
  if (resets) {
    log_change(r, sender_of(r) + " asks for a full quota of policy " +
                      policy::in_quotes(partition->policy) + " for key " +
                      policy::in_quotes(partition->key));
  }
  return inspect(r, *partition, resets ? gate::Refill::yes : gate::Refill::no);
}

ngx_int_t answer_overrides(ngx_http_request_t* r) {
  if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) return NGX_HTTP_NOT_ALLOWED;
  const MainConf& conf = main_conf(r);
  return send_page(r, view::overrides_page(conf.overrides.path(), conf.in_force->overrides()));
}

ngx_int_t answer_override(ngx_http_request_t* r, std::string_view prefix) {
  if ((r->method & (NGX_HTTP_PUT | NGX_HTTP_DELETE)) == 0) return NGX_HTTP_NOT_ALLOWED;
  if (const auto refused = refuse_sender(r)) return *refused;
  if (r->method == NGX_HTTP_DELETE) {
    const auto partition = partition_of(r, prefix, override_path);
    return send_page(
        r, partition ? remove_override(r, *partition) : view::problem_page(404, partition.error()));
  }
  const ngx_int_t rc = ngx_http_read_client_request_body(r, override_was_read);
  return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}

}  // namespace

std::optional<ngx_int_t> answer_admin(ngx_http_request_t* r, std::string_view prefix) {
  // As it was sent, and as nginx has understood it, by which its configuration says who may see it.
  std::string_view sent = sent_path(r);
  std::string_view understood = view(r->uri);
  if (!sent.starts_with(prefix) || !understood.starts_with(prefix)) return std::nullopt;
  sent.remove_prefix(prefix.size());
  understood.remove_prefix(prefix.size());
  const auto is_below = [&](std::string_view head) {
    return sent.starts_with(head) && understood.starts_with(head);
  };
  if (is_below(state_path)) return answer_state(r, prefix);
  if (sent == overrides_path && understood == sent) return answer_overrides(r);
  if (is_below(override_path)) return answer_override(r, prefix);
  return std::nullopt;
}

char* set_admin_token_file(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* location = static_cast<LocConf*>(conf);
  if (location->admin_token.len > 0) return const_cast<char*>("is duplicate");
  ngx_str_t path = static_cast<ngx_str_t*>(cf->args->elts)[1];
  if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) return static_cast<char*>(NGX_CONF_ERROR);
  try {
    const std::string file(view(path));
    const auto token = net::read_token(file);
    if (!token) {
      ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s", token.error().c_str());
      return static_cast<char*>(NGX_CONF_ERROR);
    }
    if (const auto warning = net::exposed_secret(file)) {
      ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "%s", warning->c_str());
    }
    ngx_str_t text = as_ngx_str(*token);
    location->admin_token = {text.len, ngx_pstrdup(cf->pool, &text)};
    if (location->admin_token.data == nullptr) return static_cast<char*>(NGX_CONF_ERROR);
  } catch (const std::exception&) {  // only std::bad_alloc
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  return NGX_CONF_OK;
}

}  // namespace headgate::nginx
