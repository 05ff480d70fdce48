// The nginx door: has the gate decide each client request once, before nginx acts on it, and writes
// the rate limit fields of the response. docs/nginx.md is the manual.
//
// In the order of nginx's own modules: directives, module, variables, handlers, helpers, init.

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "headgate/base/ascii.h"
#include "headgate/base/writer.h"
#include "headgate/field/accept.h"
#include "headgate/gate/gate.h"
#include "headgate/metrics/exposition.h"
#include "headgate/nginx/admin.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/connections.h"
#include "headgate/nginx/context.h"
#include "headgate/nginx/dashboard.h"
#include "headgate/nginx/decide.h"
#include "headgate/nginx/decision_log.h"
#include "headgate/nginx/interval.h"
#include "headgate/nginx/mailbox.h"
#include "headgate/nginx/metrics.h"
#include "headgate/nginx/nginx_request.h"
#include "headgate/nginx/ngx.h"
#include "headgate/nginx/overrides.h"
#include "headgate/nginx/recording.h"
#include "headgate/nginx/response_end.h"
#include "headgate/nginx/response_fields.h"
#include "headgate/nginx/send.h"
#include "headgate/nginx/suspension.h"
#include "headgate/nginx/turn.h"

namespace {

using namespace headgate;
using namespace headgate::nginx;

// They are in a request's memory, which is freed without destructors.
static_assert(std::is_trivially_destructible_v<gate::Item>);
static_assert(std::is_trivially_destructible_v<gate::Due>);

extern "C" {
char* set_metrics(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;
ngx_int_t init(ngx_conf_t* cf) noexcept;
ngx_int_t init_module(ngx_cycle_t* cycle) noexcept;
ngx_int_t init_process(ngx_cycle_t* cycle) noexcept;
void exit_process(ngx_cycle_t* cycle) noexcept;
ngx_int_t get_verdict(ngx_http_request_t* r, ngx_http_variable_value_t* v, uintptr_t data) noexcept;
ngx_int_t get_policy(ngx_http_request_t* r, ngx_http_variable_value_t* v, uintptr_t data) noexcept;
ngx_int_t get_remaining(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                        uintptr_t data) noexcept;
ngx_int_t get_header(ngx_http_request_t* r, ngx_http_variable_value_t* v, uintptr_t data) noexcept;
}

ngx_command_t directives[] = {
    // headgate_config FILE;            the policy file, relative to nginx.conf
    {ngx_string("headgate_config"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_config,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},

    // headgate_memory SIZE [FILE];     replaces the policy file's `store`; FILE stays after nginx
    {ngx_string("headgate_memory"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE12, set_memory,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},

    // headgate_overrides FILE;         keeps the overrides that are made while nginx runs
    {ngx_string("headgate_overrides"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_overrides,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},

    // headgate_connections_per_address N;  at each worker; further ones are closed; default 0: any
    {ngx_string("headgate_connections_per_address"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1,
     set_connections_per_address, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},

    // headgate on|off;                 default off
    {ngx_string("headgate"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConf, on), nullptr},

    // headgate_dry_run on|off;         decides and counts, never denies; default off
    {ngx_string("headgate_dry_run"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConf, dry_run), nullptr},

    // headgate_unbuffered_events on|off;  forwards events of the upstream at once; default off
    {ngx_string("headgate_unbuffered_events"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConf, unbuffered_events),
     nullptr},

    // headgate_metrics;                responds with the counters as Prometheus text
    {ngx_string("headgate_metrics"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_metrics,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},

    // headgate_dashboard;              the dashboard, metrics and /v1/top beneath the location
    {ngx_string("headgate_dashboard"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_dashboard,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},

    // headgate_admin_token_file FILE;  lets those who show its token change quotas there
    {ngx_string("headgate_admin_token_file"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     set_admin_token_file, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},

    ngx_null_command};

ngx_http_module_t http_module = {
    add_variables,     // preconfiguration
    init,              // postconfiguration
    create_main_conf,  // create main configuration
    nullptr,           // init main configuration
    nullptr,           // create server configuration
    nullptr,           // merge server configuration
    create_loc_conf,   // create location configuration
    merge_loc_conf     // merge location configuration
};

}  // namespace

ngx_module_t ngx_http_headgate_module = {NGX_MODULE_V1,
                                         &http_module,
                                         directives,
                                         NGX_HTTP_MODULE,
                                         nullptr,      // init master
                                         init_module,  // init module
                                         init_process,
                                         nullptr,  // init thread
                                         nullptr,  // exit thread
                                         exit_process,
                                         nullptr,  // exit master
                                         NGX_MODULE_V1_PADDING};

namespace {

constexpr std::string_view header_prefix = "headgate_http_";

ngx_http_variable_t variables[] = {
    // admitted, denied, shadow-denied or off; outage-... if Redis was away
    {ngx_string("headgate_verdict"), nullptr, get_verdict, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    // the policy that denied, or would have in enforce mode
    {ngx_string("headgate_policy"), nullptr, get_policy, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    // the smallest r of the enforced policies
    {ngx_string("headgate_remaining"), nullptr, get_remaining, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    // headgate_http_NAME: a header of the request as policies count it, all its lines in one
    {as_ngx_str(header_prefix), nullptr, get_header, 0,
     NGX_HTTP_VAR_NOCACHEABLE | NGX_HTTP_VAR_PREFIX, 0},
    ngx_http_null_variable};

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;
ngx_http_request_body_filter_pt next_request_body_filter;

// A worker writes one response at a time.
std::array<char, 16384> problem_buffer;  // for the names of 128 denying policies

ngx_str_t problem_type = ngx_string("application/problem+json");
ngx_str_t no_type = ngx_null_string;

bool body_is_too_long(ngx_http_request_t* r) noexcept;
ngx_int_t enforce(ngx_http_request_t* r, const RequestContext& context) noexcept;
ngx_int_t refuse(ngx_http_request_t* r) noexcept;
void forward_events(ngx_http_request_t* r) noexcept;

// --- Handlers ---------------------------------------------------------------------------------

extern "C" void body_was_read(ngx_http_request_t* r) noexcept {
  r->write_event_handler = ngx_http_core_run_phases;
  ngx_http_core_run_phases(r);
}

// The rest of the body may still arrive. Nothing reads it.
extern "C" void body_was_given_up(ngx_http_request_t* r) noexcept {
  if (r->connection->read->timer_set) ngx_del_timer(r->connection->read);
  r->read_event_handler = ngx_http_block_reading;
  body_was_read(r);
}

// Called for each piece of a request body. If a decision waits for the body's length, and the body
// is already longer than any policy admits, the request is decided now.
extern "C" ngx_int_t request_body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  if (gave_up_body(r)) return NGX_AGAIN;
  if (r->request_body->post_handler != body_was_read || !body_is_too_long(r)) {
    return next_request_body_filter(r, in);
  }
  give_up_body(r);
  r->write_event_handler = body_was_given_up;
  if (ngx_http_post_request(r, nullptr) != NGX_OK) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  return NGX_AGAIN;  // nginx reads no more before an event
}

// Continues a request that rewrite_handler() has suspended.
extern "C" void resume(ngx_http_request_t* r) noexcept {
  const ngx_int_t rc = enforce(r, *find_context(r));
  if (rc == NGX_DECLINED) {
    ngx_http_core_run_phases(r);
  } else {
    ngx_http_finalize_request(r, rc);
  }
}

// Server rewrite phase, behind the rewrite module: no `return` was directly in server{}.
extern "C" ngx_int_t server_handler(ngx_http_request_t* r) noexcept {
  if (r != r->main) return NGX_DECLINED;
  if (!count_stream(r)) return refuse(r);
  return pass_server(r) ? NGX_DECLINED : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

// Rewrite phase, before the rewrite module: the location is known, and no `return` has been
// executed. Runs again after each rewrite and internal redirect; a request that has a context is
// decided.
extern "C" ngx_int_t rewrite_handler(ngx_http_request_t* r) noexcept {
  if (r != r->main || find_context(r) != nullptr) return NGX_DECLINED;
  if (!loc_conf(r).on) return pass_location(r) ? NGX_DECLINED : NGX_HTTP_INTERNAL_SERVER_ERROR;
  if (was_refused_early(r)) return NGX_DECLINED;
  if (!is_unambiguous(r) && !loc_conf(r).dry_run) {
    return decide(r, false) == nullptr ? NGX_HTTP_INTERNAL_SERVER_ERROR : NGX_HTTP_BAD_REQUEST;
  }

  if (!body_bytes(r) && !r->discard_body && body_bytes_wanted(r)) {
    const ngx_int_t rc = ngx_http_read_client_request_body(r, body_was_read);
    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) return rc;
    // nginx may have replaced the handler that request_body_filter() has set.
    if (gave_up_body(r)) r->write_event_handler = body_was_given_up;
    ngx_http_finalize_request(r, NGX_DONE);
    return NGX_DONE;
  }

  RequestContext* const context = decide(r, true);
  if (context == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  if (context->verdict.hold > 0) {
    if (const ngx_int_t rc = await_turn(r, *context); rc != NGX_OK) return rc;
    return suspend(r, resume);
  }
  if (context->job != nullptr) return suspend(r, resume);
  return enforce(r, *context);
}

// Called for each response. A request that nginx has answered, or refused, before it reached a
// location (a `return` in server{}, a malformed request) is decided here: too late to be denied,
// but charged, and with fields if the store answers at once.
extern "C" ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
  if (r != r->main) return next_header_filter(r);
  if (loc_conf(r).unbuffered_events) forward_events(r);
  RequestContext* context = find_context(r);
  if (context == nullptr) {
    if (!loc_conf(r).on) return next_header_filter(r);
    context = decide(r, false);
    // Without memory. A response that says so (500) is nginx's already, and goes out as it is.
    if (context == nullptr) return next_header_filter(r);
  }
  remove_fields(r, *context);
  if (is_cached(r)) drop_stale_fields(r);
  if (context->matched() && write_fields(r, *context) != NGX_OK) return NGX_ERROR;
  if (context->slots > 0 && ends_with_header(r)) release_slots(r, *context);
  // nginx closes the connection if the rest of the body is still to come (without
  // proxy_request_buffering): the client must not send its next request there.
  if (r->reading_body) r->keepalive = 0;
  return next_header_filter(r);
}

// Called for each piece of a response body, after compression and before chunking.
extern "C" ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  RequestContext* context = find_context(r->main);
  if (context != nullptr && context->matched()) {
    for (const ngx_chain_t* link = in; link != nullptr; link = link->next) {
      context->body_bytes += static_cast<std::uint64_t>(ngx_buf_size(link->buf));
    }
    if (context->slots > 0 && is_ending(r->main, *context, in)) release_slots(r->main, *context);
  }
  return next_body_filter(r, in);
}

// Log phase: runs once per request, also if it was aborted.
extern "C" ngx_int_t log_handler(ngx_http_request_t* r) noexcept {
  if (r != r->main) return NGX_OK;
  RequestContext* context = find_context(r);
  if (context == nullptr && r->request_body != nullptr && loc_conf(r).on && body_bytes_wanted(r)) {
    context = decide(r, false);  // aborted in the middle of its body: what was read is charged
  }
  if (context != nullptr) settle(r, *context);
  return NGX_OK;
}

extern "C" ngx_int_t metrics_handler(ngx_http_request_t* r) noexcept {
  if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) return NGX_HTTP_NOT_ALLOWED;
  const MainConf& conf = main_conf(r);
  if (conf.in_force == nullptr) return NGX_HTTP_NOT_FOUND;
  try {
    return send_text(r, NGX_HTTP_OK, metrics::Exposition::content_type, metrics_text(conf));
  } catch (const std::exception&) {  // only std::bad_alloc
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
}

// --- Helpers ----------------------------------------------------------------------------------

// Whether the part of the body read so far is already too long to be admitted.
bool body_is_too_long(ngx_http_request_t* r) noexcept {
  if (loc_conf(r).dry_run) return false;
  const std::optional<std::uint64_t> bytes = body_bytes(r);
  const std::optional<std::uint64_t> wanted = body_bytes_wanted(r);
  return bytes && wanted && *bytes > *wanted;
}

// Whether nginx's configuration has an error_page for this status.
bool has_error_page(ngx_http_request_t* r, ngx_uint_t status) noexcept {
  const auto* core =
      static_cast<ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
  if (r->error_page || core->error_pages == nullptr) return false;
  const auto* page = static_cast<const ngx_http_err_page_t*>(core->error_pages->elts);
  return std::any_of(page, page + core->error_pages->nelts, [status](const auto& p) {
    return p.status == static_cast<ngx_int_t>(status);
  });
}

// Whether nginx responds with this status and its page if a handler returns it. It takes some for
// what has become of the connection (408, 444, 499), and some for reasons of a 400.
bool has_page(ngx_uint_t status) noexcept {
  return status != NGX_HTTP_REQUEST_TIME_OUT && status != NGX_HTTP_CLOSE &&
         (status < NGX_HTTP_NGINX_CODES || status > NGX_HTTP_CLIENT_CLOSED_REQUEST);
}

bool accepts_problem(const ngx_http_request_t* r) noexcept {
  std::array<std::string_view, 16> lines;  // far more than any client sends
  std::size_t count = 0;
  const NginxHeaders headers{r->headers_in.headers};
  while (count < lines.size()) {
    const std::optional<std::string_view> line = headers.line("accept", count);
    if (!line) break;
    lines[count++] = *line;
  }
  return field::accepts_problem_json(std::span(lines).first(count));
}

// Logs a denial that no policy decided.
void log_refusal(const ngx_http_request_t* r, policy::Refusal why) noexcept {
  if (why == policy::Refusal::unclear_host) {
    ngx_log_error(NGX_LOG_NOTICE, r->connection->log, 0, "denied because its host is malformed");
    return;
  }
  // The policy file has to change: an error, but a line for each of them would fill the log.
  static Interval between_reports(10'000);
  if (!between_reports.restart_if_over()) return;
  ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                "headgate: denied because it has more than %uz policies",
                policy::policies_per_request_max);
}

// Responds with a denial. header_filter() adds the fields, as to every response.
ngx_int_t deny(ngx_http_request_t* r, const RequestContext& context) noexcept {
  const gate::Verdict& verdict = context.verdict;
  const ngx_uint_t status = verdict.status();
  if (verdict.denier != nullptr) {
    const ngx_str_t name = as_ngx_str(verdict.denier->title());
    ngx_log_error(NGX_LOG_NOTICE, r->connection->log, 0, "denied by policy \"%V\"", &name);
  } else {
    log_refusal(r, verdict.refusal);
  }

  if (has_error_page(r, status)) return static_cast<ngx_int_t>(status);
  ngx_http_complex_value_t body{};
  ngx_str_t* type = &no_type;
  if (context.gate().policies().settings().problem_details) {
    Writer out(problem_buffer);
    if (accepts_problem(r) && context.gate().field_writer().write_problem(verdict, out)) {
      std::string_view text = out.text();
      if (!keep(r, text)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
      body.value = as_ngx_str(text);
      type = &problem_type;
    } else if (has_page(status)) {
      return static_cast<ngx_int_t>(status);
    }
  }
  r->expect_tested = 1;  // send no 100 Continue: the body is not read
  r->err_status = 0;     // in case the denied request is for an error page
  return ngx_http_send_response(r, status, type, &body);
}

// Answers a request that may not pass; NGX_DECLINED: it may. One whose body was given up may not,
// even if no policy denies it: because Redis is away, or a reload has just raised the quota.
ngx_int_t enforce(ngx_http_request_t* r, const RequestContext& context) noexcept {
  if (context.verdict.outcome == gate::Outcome::denied) return deny(r, context);
  return gave_up_body(r) ? NGX_HTTP_REQUEST_ENTITY_TOO_LARGE : NGX_DECLINED;
}

// Responds to a request beyond those that its address may have in progress. Without a body, also of
// an error_page: until the client reads that, nginx would keep the request.
ngx_int_t refuse(ngx_http_request_t* r) noexcept {
  ngx_http_complex_value_t no_body{};
  return ngx_http_send_response(r, NGX_HTTP_SERVICE_UNAVAILABLE, &no_type, &no_body);
}

// As the upstream's field `X-Accel-Buffering: no` does: nginx keeps short events until a buffer is
// full or the response ends.
void forward_events(ngx_http_request_t* r) noexcept {
  constexpr std::string_view events = "text/event-stream";
  ngx_str_t& type = r->headers_out.content_type;
  const bool matches = type.len >= events.size() &&
                       ngx_strncasecmp(type.data, as_ngx_str(events).data, events.size()) == 0;
  if (r->upstream != nullptr && matches) r->upstream->buffering = 0;
}

// --- Variables --------------------------------------------------------------------------------

void set_value(ngx_http_variable_value_t* v, std::string_view text) noexcept {
  v->len = static_cast<unsigned>(text.size()) & 0xfffffff;
  v->valid = 1;
  v->no_cacheable = 0;
  v->not_found = 0;
  v->data = as_ngx_str(text).data;
}

extern "C" ngx_int_t get_verdict(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                                 uintptr_t) noexcept {
  const RequestContext* context = find_context(r->main);
  set_value(v, context == nullptr ? gate::Verdict().word() : context->verdict.word());
  return NGX_OK;
}

extern "C" ngx_int_t get_policy(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                                uintptr_t) noexcept {
  v->not_found = 1;
  const RequestContext* context = find_context(r->main);
  if (context == nullptr || context->verdict.denier == nullptr) return NGX_OK;
  set_value(v, context->verdict.denier->title());
  return NGX_OK;
}

extern "C" ngx_int_t get_remaining(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                                   uintptr_t) noexcept {
  v->not_found = 1;
  const RequestContext* context = find_context(r->main);
  if (context == nullptr || !context->verdict.remaining) return NGX_OK;
  std::array<char, 20> digits{};
  Writer out(digits);
  out.put_decimal(*context->verdict.remaining);
  std::string_view text = out.text();
  if (!keep(r, text)) return NGX_ERROR;
  set_value(v, text);
  return NGX_OK;
}

// `data` is the whole name of the variable.
extern "C" ngx_int_t get_header(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                                uintptr_t data) noexcept {
  v->not_found = 1;
  std::string_view name = nginx::view(*reinterpret_cast<const ngx_str_t*>(data));
  name.remove_prefix(header_prefix.size());
  std::array<char, 256> field{};
  if (name.size() > field.size()) return NGX_OK;
  std::transform(name.begin(), name.end(), field.begin(),
                 [](char c) { return c == '_' ? '-' : lower(c); });
  const NginxHeaders headers{r->headers_in.headers};
  std::string_view value;
  if (!join_lines(r->pool, headers, {field.data(), name.size()}, value)) return NGX_ERROR;
  if (!value.empty()) set_value(v, value);
  return NGX_OK;
}

// --- Init -------------------------------------------------------------------------------------

extern "C" char* set_metrics(ngx_conf_t* cf, ngx_command_t*, void*) noexcept {
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  core->handler = metrics_handler;
  return NGX_CONF_OK;
}

extern "C" ngx_int_t add_variables(ngx_conf_t* cf) noexcept {
  for (ngx_http_variable_t* from = variables; from->name.len != 0; ++from) {
    ngx_http_variable_t* added = ngx_http_add_variable(cf, &from->name, from->flags);
    if (added == nullptr) return NGX_ERROR;
    added->get_handler = from->get_handler;
  }
  return NGX_OK;
}

ngx_int_t add_handler(ngx_conf_t* cf, ngx_http_phases phase, ngx_http_handler_pt handler) noexcept {
  auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  void* place = ngx_array_push(&core->phases[phase].handlers);
  if (place == nullptr) return NGX_ERROR;
  *static_cast<ngx_http_handler_pt*>(place) = handler;
  return NGX_OK;
}

// The handler that was added last to a phase becomes the one that runs last.
void put_last(ngx_conf_t* cf, ngx_http_phases phase) noexcept {
  auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  ngx_array_t& handlers = core->phases[phase].handlers;
  auto* const first = static_cast<ngx_http_handler_pt*>(handlers.elts);
  std::rotate(first, first + handlers.nelts - 1, first + handlers.nelts);
}

extern "C" ngx_int_t init(ngx_conf_t* cf) noexcept {
  auto& conf =
      *static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_headgate_module));
  if (conf.policies == nullptr) {
    const bool bounds = conf.connections_per_address.value_or(0) > 0;
    const char* const needing = conf.has_dashboard             ? "headgate_dashboard"
                                : !conf.overrides_file.empty() ? "headgate_overrides"
                                : bounds                       ? "headgate_connections_per_address"
                                                               : nullptr;
    if (needing == nullptr) return NGX_OK;
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%s\" needs \"headgate_config FILE\"", needing);
    return NGX_ERROR;
  }
  if (!open(cf, conf) || !open_decision_log(cf, conf)) return NGX_ERROR;
  // The handlers of a phase run in reverse order, so this one runs before the rewrite module's.
  if (add_handler(cf, NGX_HTTP_REWRITE_PHASE, rewrite_handler) != NGX_OK) return NGX_ERROR;
  if (add_handler(cf, NGX_HTTP_SERVER_REWRITE_PHASE, server_handler) != NGX_OK) return NGX_ERROR;
  put_last(cf, NGX_HTTP_SERVER_REWRITE_PHASE);
  if (add_handler(cf, NGX_HTTP_LOG_PHASE, log_handler) != NGX_OK) return NGX_ERROR;
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = header_filter;
  if (std::ranges::any_of(conf.policies->policies(), [](const policy::Policy& policy) {
        return policy.cost_time != policy::CostTime::request || policy.holds_slots();
      })) {
    next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = body_filter;
  }
  if (conf.reads_bodies) {
    next_request_body_filter = ngx_http_top_request_body_filter;
    ngx_http_top_request_body_filter = request_body_filter;
  }
  return NGX_OK;
}

// Runs when the new configuration comes into force.
extern "C" ngx_int_t init_module(ngx_cycle_t* cycle) noexcept {
  MainConf* conf = conf_of(cycle);
  count_reload(cycle, conf);
  if (conf == nullptr) return NGX_OK;
  bound_connections(cycle, *conf);
  open_recording(cycle, *conf);
  return NGX_OK;
}

extern "C" ngx_int_t init_process(ngx_cycle_t* cycle) noexcept {
  const MainConf* conf = conf_of(cycle);
  if (conf == nullptr) return NGX_OK;
  read_unsent_max();
  open_mailbox(*conf);
  begin_recording(*conf);
  begin_following(*conf);
  return NGX_OK;
}

// Runs when a worker exits, but not if it is killed.
extern "C" void exit_process(ngx_cycle_t*) noexcept {
  end_recording();
  flush_decision_log();
}

}  // namespace
