// The nginx door: asks the gate once per client request, before nginx does anything about it, and
// tells on the response what the gate answered. docs/nginx.md is the manual.
//
// In nginx's own order: data, directives, module, variables, handlers, helpers, configuration,
// init.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headgate/base/writer.h"
#include "headgate/field/accept.h"
#include "headgate/field/family.h"
#include "headgate/field/merge.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/retry_after.h"
#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/nginx/counters.h"
#include "headgate/nginx/metrics.h"
#include "headgate/nginx/nginx_request.h"
#include "headgate/nginx/ngx.h"
#include "headgate/policy/load.h"
#include "headgate/store/table.h"

namespace {

using namespace headgate;
using headgate::nginx::as_ngx_str;
using headgate::nginx::view;

// headgate_memory
struct Memory {
  std::size_t bytes;
  std::string file;  // empty: memory alone
};

// http{}: what all workers share.
struct MainConf {
  std::shared_ptr<const policy::PolicySet> policies;  // null without headgate_config
  std::optional<Memory> memory;
  store::TableOptions table_options;  // in force
  std::shared_ptr<store::Table> table;
  std::shared_ptr<nginx::Counters> counters;
  std::optional<gate::Gate> gate;
  bool reads_bodies = false;  // a cost is the length of the request's body
  bool late_costs = false;    // a cost is known when the response has ended
};

struct LocConf {
  ngx_flag_t on;
  ngx_flag_t dry_run;
};

// What is remembered of a request from its decision to its log line.
struct Context {
  const gate::Gate* gate;
  gate::Verdict verdict;  // its items and dues are kept with this
  Instant taken;
  std::uint64_t body_bytes;  // of the response, as given to the connection
  bool enforceable;          // decided before nginx answered
};

// A context, and room for what belongs to it, handed from request to request. The request's own
// pool is for what does not fit: a few hundred bytes more often make nginx add a block of 4 KiB to
// it, which costs as much as the decision.
struct Slot : Context {
  std::size_t used;
  Slot* next;  // while it is free
  alignas(std::max_align_t) char room[768];
};
static_assert(std::is_trivially_destructible_v<Context>);
static_assert(std::is_trivially_destructible_v<gate::Item>);
static_assert(std::is_trivially_destructible_v<gate::Due>);

extern "C" {
char* set_config(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_memory(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
char* set_metrics(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;
ngx_int_t init(ngx_conf_t* cf) noexcept;
ngx_int_t init_module(ngx_cycle_t* cycle) noexcept;
void* create_main_conf(ngx_conf_t* cf) noexcept;
void* create_loc_conf(ngx_conf_t* cf) noexcept;
char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;
ngx_int_t get_verdict(ngx_http_request_t* r, ngx_http_variable_value_t* v, uintptr_t data) noexcept;
ngx_int_t get_policy(ngx_http_request_t* r, ngx_http_variable_value_t* v, uintptr_t data) noexcept;
ngx_int_t get_remaining(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                        uintptr_t data) noexcept;
}

ngx_command_t directives[] = {
    // headgate_config FILE;            the policy file, relative to nginx.conf
    {ngx_string("headgate_config"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_config,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},

    // headgate_memory SIZE [FILE];     instead of the policy file's `store`; FILE outlives nginx
    {ngx_string("headgate_memory"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE12, set_memory,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},

    // headgate on|off;                 default off
    {ngx_string("headgate"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConf, on), nullptr},

    // headgate_dry_run on|off;         decides and counts, never denies; default off
    {ngx_string("headgate_dry_run"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConf, dry_run), nullptr},

    // headgate_metrics;                answers with the counters as Prometheus text
    {ngx_string("headgate_metrics"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_metrics,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},

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

extern "C" {
// Named by nginx's list of this file's modules.
__attribute__((visibility("hidden")))
ngx_module_t ngx_http_headgate_module = {NGX_MODULE_V1,
                                         &http_module,
                                         directives,
                                         NGX_HTTP_MODULE,
                                         nullptr,      // init master
                                         init_module,  // init module
                                         nullptr,      // init process
                                         nullptr,      // init thread
                                         nullptr,      // exit thread
                                         nullptr,      // exit process
                                         nullptr,      // exit master
                                         NGX_MODULE_V1_PADDING};
}

namespace {

ngx_http_variable_t variables[] = {
    // admitted, denied, shadow-denied or off
    {ngx_string("headgate_verdict"), nullptr, get_verdict, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    // the policy that denied, or would have
    {ngx_string("headgate_policy"), nullptr, get_policy, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    // least r of the enforced policies
    {ngx_string("headgate_remaining"), nullptr, get_remaining, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    ngx_http_null_variable};

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;
ngx_http_request_body_filter_pt next_request_body_filter;

// A worker judges one request at a time, and the table answers at once, so one of each is enough.
gate::Ticket ticket;
std::array<char, 16384> text_buffer;

// Slots that no request has at the moment. One list a worker.
class FreeSlots {
 public:
  // nullptr: out of memory.
  [[nodiscard]] Slot* take() noexcept {
    Slot* slot = first_;
    if (slot == nullptr) {
      slot = static_cast<Slot*>(std::malloc(sizeof(Slot)));
      if (slot == nullptr) return nullptr;
    } else {
      first_ = slot->next;
      --count_;
    }
    slot->used = 0;
    return slot;
  }
  void give(Slot* slot) noexcept {
    if (count_ == count_max) {
      std::free(slot);
      return;
    }
    slot->next = first_;
    first_ = slot;
    ++count_;
  }

 private:
  static constexpr std::size_t count_max = 1024;  // after a rush, this much stays: about 1 MiB

  Slot* first_ = nullptr;
  std::size_t count_ = 0;
};
FreeSlots free_slots;

// The context of requests that no policy matched.
Context unmatched{};

ngx_str_t retry_after_key = ngx_string("Retry-After");
ngx_str_t problem_type = ngx_string("application/problem+json");
ngx_str_t metrics_type = ngx_string("text/plain; version=0.0.4; charset=utf-8");
ngx_str_t no_type = ngx_null_string;

MainConf& main_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<MainConf*>(ngx_http_get_module_main_conf(r, ngx_http_headgate_module));
}

LocConf& loc_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<LocConf*>(ngx_http_get_module_loc_conf(r, ngx_http_headgate_module));
}

std::optional<std::uint64_t> body_bytes_wanted(ngx_http_request_t* r) noexcept;
bool body_is_too_long(ngx_http_request_t* r) noexcept;
Context* find_context(ngx_http_request_t* r) noexcept;
Context* decide(ngx_http_request_t* r, bool enforceable) noexcept;
void settle(ngx_http_request_t* r, const Context& context) noexcept;
ngx_int_t deny(ngx_http_request_t* r, const Context& context) noexcept;
ngx_int_t write_fields(ngx_http_request_t* r, const Context& context) noexcept;
void drop_stale_fields(ngx_http_request_t* r) noexcept;

// --- Handlers ---------------------------------------------------------------------------------

extern "C" void body_was_read(ngx_http_request_t* r) noexcept {
  r->write_event_handler = ngx_http_core_run_phases;
  ngx_http_core_run_phases(r);
}

// More has come of the body than any policy admits, and it goes on: it is decided now, and whatever
// else comes is the connection's loss.
extern "C" void give_up_body(ngx_http_request_t* r) noexcept {
  if (r->connection->read->timer_set) ngx_del_timer(r->connection->read);
  r->read_event_handler = ngx_http_block_reading;
  if (r->stream != nullptr) r->stream->skip_data = 1;
  r->keepalive = 0;
  r->lingering_close = 1;
  body_was_read(r);
}

// Every piece of a body that nginx reads. Of those that are waited for, only what may yet be
// admitted is kept.
extern "C" ngx_int_t request_body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  if (r->request_body->post_handler != body_was_read || !body_is_too_long(r)) {
    return next_request_body_filter(r, in);
  }
  for (; in != nullptr; in = in->next) in->buf->pos = in->buf->last;
  r->request_body->filter_need_buffering = 1;  // nginx need not wait for it to be kept
  r->write_event_handler = give_up_body;
  if (r->main->posted_requests != nullptr) return NGX_OK;
  return ngx_http_post_request(r, nullptr) == NGX_OK ? NGX_OK : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

// Rewrite phase, before the rewrite module: the location is known, and `return` has not answered
// yet. Runs again after each rewrite and internal redirect; the context makes them one request.
extern "C" ngx_int_t rewrite_handler(ngx_http_request_t* r) noexcept {
  if (r != r->main || !loc_conf(r).on || find_context(r) != nullptr) return NGX_DECLINED;

  if (!nginx::body_bytes(r) && !r->discard_body && body_bytes_wanted(r)) {
    const ngx_int_t rc = ngx_http_read_client_request_body(r, body_was_read);
    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) return rc;
    // nginx has set handlers of its own since the filter did.
    if (find_context(r) == nullptr && body_is_too_long(r)) r->write_event_handler = give_up_body;
    ngx_http_finalize_request(r, NGX_DONE);
    return NGX_DONE;
  }

  const Context* context = decide(r, true);
  if (context == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  if (context->verdict.outcome != gate::Outcome::denied) return NGX_DECLINED;
  return deny(r, *context);
}

// Every response. One whose request never came by a location (a `return` in server{}, an error in
// the request itself) is judged here: too late to be denied, but charged and told.
extern "C" ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
  if (r != r->main) return next_header_filter(r);
  const Context* context = find_context(r);
  if (context == nullptr) {
    if (!loc_conf(r).on) return next_header_filter(r);
    context = decide(r, false);
    if (context == nullptr) return NGX_ERROR;
  }
  if (r->cached) drop_stale_fields(r);
  if (context != &unmatched && write_fields(r, *context) != NGX_OK) return NGX_ERROR;
  return next_header_filter(r);
}

// Every piece of a response, compressed if it is to be and not yet chunked.
extern "C" ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  Context* context = find_context(r->main);
  if (context != nullptr && context != &unmatched) {
    for (const ngx_chain_t* link = in; link != nullptr; link = link->next) {
      context->body_bytes += static_cast<std::uint64_t>(ngx_buf_size(link->buf));
    }
  }
  return next_body_filter(r, in);
}

// Log phase: once per request, whatever became of it.
extern "C" ngx_int_t log_handler(ngx_http_request_t* r) noexcept {
  if (r != r->main) return NGX_OK;
  const Context* context = find_context(r);
  if (context == nullptr && r->request_body != nullptr && loc_conf(r).on && body_bytes_wanted(r)) {
    context = decide(r, false);  // it went away in the middle of its body: what came is charged
  }
  if (context != nullptr && !context->verdict.dues.empty()) settle(r, *context);
  return NGX_OK;
}

extern "C" ngx_int_t metrics_handler(ngx_http_request_t* r) noexcept {
  if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) return NGX_HTTP_NOT_ALLOWED;
  const MainConf& conf = main_conf(r);
  if (!conf.gate) return NGX_HTTP_NOT_FOUND;
  try {
    const std::string text = nginx::metrics_text(*conf.policies, *conf.counters, *conf.table);
    auto* copy = static_cast<u_char*>(ngx_pnalloc(r->pool, text.size()));
    if (copy == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    std::memcpy(copy, text.data(), text.size());
    ngx_http_complex_value_t body{};
    body.value = {text.size(), copy};
    return ngx_http_send_response(r, NGX_HTTP_OK, &metrics_type, &body);
  } catch (const std::exception&) {  // only std::bad_alloc
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
}

// --- Helpers ----------------------------------------------------------------------------------

// PolicySet::body_bytes_wanted() of this request; std::nullopt also where memory is short.
std::optional<std::uint64_t> body_bytes_wanted(ngx_http_request_t* r) noexcept {
  const MainConf& conf = main_conf(r);
  if (!conf.reads_bodies) return std::nullopt;
  const nginx::NginxHeaders headers{r->headers_in.headers};
  try {
    return conf.policies->body_bytes_wanted(nginx::client_request(r, headers), ticket.scratch);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

// Whether a body that is being read will be denied, however it goes on.
bool body_is_too_long(ngx_http_request_t* r) noexcept {
  if (loc_conf(r).dry_run) return false;
  const std::optional<std::uint64_t> bytes = nginx::body_bytes(r);
  const std::optional<std::uint64_t> wanted = body_bytes_wanted(r);
  return bytes && wanted && *bytes > *wanted;
}

// At the end of a request, after its log line. Marks the pool cleanup that owns a context, too.
extern "C" void context_cleanup(void* data) noexcept { free_slots.give(static_cast<Slot*>(data)); }

// The request's context. nginx forgets module contexts on internal redirects, pools remember.
Context* find_context(ngx_http_request_t* r) noexcept {
  auto* context = static_cast<Context*>(ngx_http_get_module_ctx(r, ngx_http_headgate_module));
  if (context != nullptr || !(r->internal || r->filter_finalize)) return context;
  for (ngx_pool_cleanup_t* at = r->pool->cleanup; at != nullptr; at = at->next) {
    if (at->handler != context_cleanup) continue;
    context = static_cast<Context*>(at->data);
    ngx_http_set_ctx(r, context, ngx_http_headgate_module);
    return context;
  }
  return nullptr;
}

// Memory until the end of the request: the slot's while it lasts. nullptr: there is none.
void* room_for(ngx_http_request_t* r, std::size_t bytes, std::size_t alignment) noexcept {
  if (auto* slot = static_cast<Slot*>(find_context(r)); slot != nullptr && slot != &unmatched) {
    const std::size_t at = (slot->used + alignment - 1) / alignment * alignment;
    if (at + bytes <= sizeof slot->room) {
      slot->used = at + bytes;
      return slot->room + at;
    }
  }
  return ngx_palloc(r->pool, bytes);
}

// Moves a text to where it stays until the end of the request. false: out of memory.
bool keep(ngx_http_request_t* r, std::string_view& text) noexcept {
  if (text.empty()) return true;
  auto* copy = static_cast<char*>(room_for(r, text.size(), 1));
  if (copy == nullptr) return false;
  std::memcpy(copy, text.data(), text.size());
  text = {copy, text.size()};
  return true;
}

// Copies what settle() will need. false: out of memory.
bool keep_dues(ngx_http_request_t* r, Context& context) noexcept {
  const std::span<const gate::Due> dues = ticket.verdict.dues;
  if (dues.empty()) return true;
  auto* kept = static_cast<gate::Due*>(room_for(r, dues.size_bytes(), alignof(gate::Due)));
  if (kept == nullptr) return false;
  std::uninitialized_copy(dues.begin(), dues.end(), kept);
  for (gate::Due* due = kept; due != kept + dues.size(); ++due) {
    if (!keep(r, due->key)) return false;
  }
  context.verdict.dues = {kept, dues.size()};
  return true;
}

// The response has ended, in whichever way.
void settle(ngx_http_request_t* r, const Context& context) noexcept {
  policy::Response response;
  response.status =
      static_cast<unsigned>(r->err_status != 0 ? r->err_status : r->headers_out.status);
  // What the client has not taken was not sent; framing was, but is none of the body.
  const off_t sent = r->connection->sent - static_cast<off_t>(r->header_size);
  response.body_bytes =
      std::min(context.body_bytes, static_cast<std::uint64_t>(std::max<off_t>(sent, 0)));
  std::optional<nginx::NginxHeaders> headers;
  if (r->upstream != nullptr && !r->cached) {
    response.headers = &headers.emplace(r->upstream->headers_in.headers);
  }
  context.gate->settle(context.verdict.dues, context.taken, response, context.gate->store().now());
}

// Settles at once what the gate has just answered: there is no memory to do so later.
Context* forgo(const gate::Gate& gate, Instant taken) noexcept {
  gate.settle(ticket.verdict.dues, taken, {.status = NGX_HTTP_INTERNAL_SERVER_ERROR}, taken);
  return nullptr;
}

// Asks the gate, and keeps its answer with the request. nullptr: out of memory.
Context* decide(ngx_http_request_t* r, bool enforceable) noexcept {
  const gate::Gate& gate = *main_conf(r).gate;
  const nginx::NginxHeaders headers{r->headers_in.headers};
  const Instant now = gate.store().now();
  gate.admit(nginx::client_request(r, headers), now,
             loc_conf(r).dry_run ? gate::DryRun::yes : gate::DryRun::no, ticket);
  if (ticket.verdict.outcome == gate::Outcome::off) {
    ngx_http_set_ctx(r, &unmatched, ngx_http_headgate_module);
    return &unmatched;
  }

  const std::span<const gate::Item> items = ticket.verdict.items;
  ngx_pool_cleanup_t* owner = ngx_pool_cleanup_add(r->pool, 0);
  Slot* context = owner == nullptr ? nullptr : free_slots.take();
  if (context == nullptr) return forgo(gate, now);
  static_cast<Context&>(*context) = {&gate, ticket.verdict, now, 0, enforceable};
  context->verdict.items = {};  // until they are kept
  context->verdict.dues = {};
  owner->data = context;
  owner->handler = context_cleanup;
  ngx_http_set_ctx(r, context, ngx_http_headgate_module);
  auto* kept = static_cast<gate::Item*>(room_for(r, items.size_bytes(), alignof(gate::Item)));
  if (kept == nullptr) return forgo(gate, now);
  std::uninitialized_copy(items.begin(), items.end(), kept);
  for (gate::Item* item = kept; item != kept + items.size(); ++item) {
    if (!item->pk.empty() && !keep(r, item->pk)) return forgo(gate, now);
  }
  context->verdict.items = {kept, items.size()};
  return keep_dues(r, *context) ? context : forgo(gate, now);
}

// Does nginx's configuration have a page of its own for this status?
bool has_error_page(ngx_http_request_t* r, ngx_uint_t status) noexcept {
  const auto* core =
      static_cast<ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
  if (r->error_page || core->error_pages == nullptr) return false;
  const auto* page = static_cast<const ngx_http_err_page_t*>(core->error_pages->elts);
  return std::any_of(page, page + core->error_pages->nelts, [status](const auto& p) {
    return p.status == static_cast<ngx_int_t>(status);
  });
}

bool accepts_problem(const ngx_http_request_t* r) noexcept {
  std::array<std::string_view, 16> lines;  // more say nothing new
  std::size_t count = 0;
  const nginx::NginxHeaders headers{r->headers_in.headers};
  while (count < lines.size()) {
    const std::optional<std::string_view> line = headers.line("accept", count);
    if (!line) break;
    lines[count++] = *line;
  }
  return field::accepts_problem_json(std::span(lines).first(count));
}

// Answers in place of whatever the request asked for. Fields are added on the way out, as to
// every response.
ngx_int_t deny(ngx_http_request_t* r, const Context& context) noexcept {
  const gate::Verdict& verdict = context.verdict;
  const ngx_uint_t status = verdict.status();
  const ngx_str_t name = as_ngx_str(verdict.denier->name);
  ngx_log_error(NGX_LOG_NOTICE, r->connection->log, 0, "denied by policy \"%V\"", &name);

  if (has_error_page(r, status)) return static_cast<ngx_int_t>(status);
  ngx_http_complex_value_t body{};
  ngx_str_t* type = &no_type;
  if (context.gate->policies().settings().problem_details) {
    Writer out(text_buffer);
    if (!accepts_problem(r) || !context.gate->report().write_problem(verdict, out)) {
      return static_cast<ngx_int_t>(status);  // nginx's own page
    }
    std::string_view text = out.text();
    if (!keep(r, text)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    body.value = as_ngx_str(text);
    type = &problem_type;
  }
  r->expect_tested = 1;  // nobody waits for the body
  r->err_status = 0;     // of an error page that is being denied
  return ngx_http_send_response(r, status, type, &body);
}

// `value` outlives the response.
bool push_kept(ngx_http_request_t* r, const ngx_str_t& key, std::string_view value) noexcept {
  auto* field = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (field == nullptr) return false;
  field->hash = 1;
  field->key = key;
  field->value = as_ngx_str(value);
  field->lowcase_key = nullptr;
  return true;
}

bool push_field(ngx_http_request_t* r, const ngx_str_t& key, std::string_view value) noexcept {
  return keep(r, value) && push_kept(r, key, value);
}

// Calls f(field) for every live line of the response's header section so far.
template <class F>
void each_field(ngx_http_request_t* r, F f) noexcept {
  for (ngx_list_part_t* part = &r->headers_out.headers.part; part != nullptr; part = part->next) {
    auto* field = static_cast<ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i, ++field) {
      if (field->hash != 0) f(*field);
    }
  }
}

bool has_name(const ngx_table_elt_t& field, std::string_view name) noexcept {
  return field.key.len == name.size() &&
         ngx_strncasecmp(field.key.data, as_ngx_str(name).data, name.size()) == 0;
}

void drop(ngx_http_request_t* r, ngx_table_elt_t& field) noexcept {
  field.hash = 0;
  main_conf(r).counters->module().upstream_fields_dropped.fetch_add(1, std::memory_order_relaxed);
}

// Lines of one field that upstream sent.
struct UpstreamLines {
  static constexpr std::size_t lines_max = 64;

  std::array<ngx_table_elt_t*, lines_max> fields;
  std::array<std::string_view, lines_max> values;
  std::size_t count = 0;
  bool too_many = false;

  void push(ngx_table_elt_t& field) noexcept {
    if (count == lines_max) {
      too_many = true;
      return;
    }
    fields[count] = &field;
    values[count++] = view(field.value);
  }
  [[nodiscard]] std::span<const std::string_view> all() const noexcept {
    return {values.data(), count};
  }
  void drop_all(ngx_http_request_t* r) const noexcept {
    for (std::size_t i = 0; i < count; ++i) drop(r, *fields[i]);
  }
};

bool tells_limits(const ngx_table_elt_t& field) noexcept {
  return field::family_of(view(field.key)) != field::Family::other;
}

// What a cache kept was true when it was stored.
void drop_stale_fields(ngx_http_request_t* r) noexcept {
  each_field(r, [&](ngx_table_elt_t& field) {
    if (tells_limits(field)) drop(r, field);
  });
}

// What upstream says of its own limits.
struct UpstreamFields {
  UpstreamLines ratelimit;
  UpstreamLines policy;
  field::OlderFields older;

  void push(ngx_table_elt_t& line) noexcept {
    switch (field::family_of(view(line.key))) {
      case field::Family::other:
      case field::Family::beta:
        break;
      case field::Family::ratelimit:
        ratelimit.push(line);
        break;
      case field::Family::policy:
        policy.push(line);
        break;
      case field::Family::trio:
        older.trio = true;
        break;
      case field::Family::x_ratelimit:
        older.x_ratelimit = true;
        break;
    }
  }
  [[nodiscard]] field::Upstream read() const noexcept {
    return ratelimit.too_many || policy.too_many
               ? field::Upstream::unread(older)
               : field::Upstream::read(ratelimit.all(), policy.all(), older);
  }
  // Makes room for ours, where they are to replace some.
  void drop_replaced(ngx_http_request_t* r, const field::Upstream& upstream,
                     const gate::Lines& ours) const noexcept {
    const auto sends = [&](std::string_view name) {
      return std::any_of(ours.begin(), ours.end(),
                         [name](const gate::Line& line) { return line.name == name; });
    };
    using field::Treatment;
    if (upstream.ratelimit() == Treatment::replace && sends(field::ratelimit_name)) {
      ratelimit.drop_all(r);
    }
    if (upstream.policy() == Treatment::replace && sends(field::policy_name)) policy.drop_all(r);
  }
};

// false: out of memory.
bool push_lines(ngx_http_request_t* r, const gate::Lines& lines) noexcept {
  for (const gate::Line& line : lines) {
    const ngx_str_t key = as_ngx_str(line.name);
    if (!(line.constant ? push_kept(r, key, line.value) : push_field(r, key, line.value))) {
      return false;
    }
  }
  if (lines.left_out() > 0) {
    main_conf(r).counters->module().fields_left_out.fetch_add(lines.left_out(),
                                                              std::memory_order_relaxed);
  }
  return true;
}

// Own fields beside those of upstream.
bool merge_fields(ngx_http_request_t* r, const Context& context) noexcept {
  UpstreamFields fields;
  each_field(r, [&](ngx_table_elt_t& field) { fields.push(field); });
  const field::Upstream upstream = fields.read();
  Writer out(text_buffer);
  const gate::Lines ours =
      context.gate->report().write_beside(upstream, context.verdict.items, out);
  fields.drop_replaced(r, upstream, ours);
  return push_lines(r, ours);
}

// The value of a Retry-After line [s]; 0 if it cannot be read.
std::uint64_t wait_of(const ngx_table_elt_t& field) noexcept {
  return field::parse_retry_after(view(field.value), ngx_time()).value_or(0);
}

// The longer of upstream's wait and ours stays.
bool push_retry_after(ngx_http_request_t* r, std::uint64_t seconds) noexcept {
  bool ours = true;
  each_field(r, [&](ngx_table_elt_t& field) {
    if (has_name(field, "Retry-After") && wait_of(field) >= seconds) ours = false;
  });
  if (!ours) return true;
  each_field(r, [&](ngx_table_elt_t& field) {
    if (has_name(field, "Retry-After")) field.hash = 0;
  });
  Writer out(text_buffer);
  return field::write_retry_after(out, seconds) && push_field(r, retry_after_key, out.text());
}

// Adds our fields to what the response already says of rate limits.
ngx_int_t write_fields(ngx_http_request_t* r, const Context& context) noexcept {
  const gate::Verdict& verdict = context.verdict;
  if (verdict.retry_after && verdict.outcome == gate::Outcome::denied && context.enforceable &&
      !push_retry_after(r, *verdict.retry_after)) {
    return NGX_ERROR;
  }
  if (verdict.items.empty()) return NGX_OK;

  bool alone = true;
  each_field(r, [&](const ngx_table_elt_t& field) {
    if (tells_limits(field)) alone = false;
  });
  if (!alone) return merge_fields(r, context) ? NGX_OK : NGX_ERROR;
  Writer out(text_buffer);
  return push_lines(r, context.gate->report().write(verdict.items, out)) ? NGX_OK : NGX_ERROR;
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
  const Context* context = find_context(r->main);
  switch (context == nullptr ? gate::Outcome::off : context->verdict.outcome) {
    case gate::Outcome::off:
      set_value(v, "off");
      break;
    case gate::Outcome::admitted:
      set_value(v, "admitted");
      break;
    case gate::Outcome::shadow_denied:
      set_value(v, "shadow-denied");
      break;
    case gate::Outcome::denied:
      set_value(v, "denied");
      break;
  }
  return NGX_OK;
}

extern "C" ngx_int_t get_policy(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                                uintptr_t) noexcept {
  v->not_found = 1;
  const Context* context = find_context(r->main);
  if (context == nullptr || context->verdict.denier == nullptr) return NGX_OK;
  set_value(v, context->verdict.denier->name);
  return NGX_OK;
}

extern "C" ngx_int_t get_remaining(ngx_http_request_t* r, ngx_http_variable_value_t* v,
                                   uintptr_t) noexcept {
  v->not_found = 1;
  const Context* context = find_context(r->main);
  if (context == nullptr || !context->verdict.remaining) return NGX_OK;
  std::array<char, 20> digits{};
  Writer out(digits);
  out.put_decimal(*context->verdict.remaining);
  std::string_view text = out.text();
  if (!keep(r, text)) return NGX_ERROR;
  set_value(v, text);
  return NGX_OK;
}

// --- Configuration ----------------------------------------------------------------------------

extern "C" void destroy_main_conf(void* conf) noexcept {
  static_cast<MainConf*>(conf)->~MainConf();
}

extern "C" void* create_main_conf(ngx_conf_t* cf) noexcept {
  ngx_pool_cleanup_t* owner = ngx_pool_cleanup_add(cf->pool, sizeof(MainConf));
  if (owner == nullptr) return nullptr;
  owner->handler = destroy_main_conf;
  return new (owner->data) MainConf;
}

extern "C" void* create_loc_conf(ngx_conf_t* cf) noexcept {
  auto* conf = static_cast<LocConf*>(ngx_palloc(cf->pool, sizeof(LocConf)));
  if (conf == nullptr) return nullptr;
  conf->on = NGX_CONF_UNSET;
  conf->dry_run = NGX_CONF_UNSET;
  return conf;
}

extern "C" char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
  const auto* outer = static_cast<LocConf*>(parent);
  auto* conf = static_cast<LocConf*>(child);
  ngx_conf_merge_value(conf->on, outer->on, 0);
  ngx_conf_merge_value(conf->dry_run, outer->dry_run, 0);
  const auto* main =
      static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_headgate_module));
  if (conf->on && main->policies == nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"headgate on\" needs \"headgate_config FILE\"");
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  return NGX_CONF_OK;
}

// What this module had in the configuration that is being replaced, if it was this very module.
MainConf* previous_conf(const ngx_cycle_t* cycle) noexcept {
  const ngx_cycle_t* old = cycle->old_cycle;
  if (old == nullptr || old->conf_ctx == nullptr || old->modules == nullptr) return nullptr;
  ngx_module_t** last = old->modules + old->modules_n;
  if (std::find(old->modules, last, &ngx_http_headgate_module) == last) return nullptr;
  const auto* http = reinterpret_cast<ngx_http_conf_ctx_t*>(old->conf_ctx[ngx_http_module.index]);
  if (http == nullptr) return nullptr;
  return static_cast<MainConf*>(http->main_conf[ngx_http_headgate_module.ctx_index]);
}

char* fault(ngx_conf_t* cf, std::string_view text) noexcept {
  ngx_str_t shown = as_ngx_str(text);
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V", &shown);
  return static_cast<char*>(NGX_CONF_ERROR);
}

char* duplicate() noexcept { return const_cast<char*>("is duplicate"); }

extern "C" char* set_config(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* main = static_cast<MainConf*>(conf);
  if (main->policies != nullptr) return duplicate();
  ngx_str_t path = static_cast<ngx_str_t*>(cf->args->elts)[1];
  if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) return fault(cf, "out of memory");
  try {
    policy::Loaded loaded = policy::load_file(std::string(view(path)));
    if (loaded) {
      main->policies = *std::move(loaded);
      return NGX_CONF_OK;
    }
    for (const policy::Fault& each : loaded.error()) fault(cf, each.text());
    if (const MainConf* old = previous_conf(cf->cycle); old != nullptr && old->gate) {
      old->counters->module().refused_reloads.fetch_add(1, std::memory_order_relaxed);
    }
    return static_cast<char*>(NGX_CONF_ERROR);
  } catch (const std::exception& e) {
    return fault(cf, e.what());
  }
}

extern "C" char* set_memory(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* main = static_cast<MainConf*>(conf);
  if (main->memory) return duplicate();
  auto* args = static_cast<ngx_str_t*>(cf->args->elts);
  const off_t size = ngx_parse_offset(&args[1]);
  if (size <= 0) {
    return fault(cf, "headgate_memory: expected a size in bytes, or with k, m or g");
  }
  try {
    main->memory = Memory{static_cast<std::size_t>(size), {}};
    if (cf->args->nelts == 3) {
      ngx_str_t path = args[2];
      if (ngx_conf_full_name(cf->cycle, &path, 0) != NGX_OK) return fault(cf, "out of memory");
      main->memory->file = view(path);
    }
  } catch (const std::exception& e) {
    return fault(cf, e.what());
  }
  return NGX_CONF_OK;
}

extern "C" char* set_metrics(ngx_conf_t* cf, ngx_command_t*, void*) noexcept {
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  core->handler = metrics_handler;
  return NGX_CONF_OK;
}

// --- Init -------------------------------------------------------------------------------------

extern "C" ngx_int_t add_variables(ngx_conf_t* cf) noexcept {
  for (ngx_http_variable_t* from = variables; from->name.len != 0; ++from) {
    ngx_http_variable_t* added = ngx_http_add_variable(cf, &from->name, from->flags);
    if (added == nullptr) return NGX_ERROR;
    added->get_handler = from->get_handler;
  }
  return NGX_OK;
}

// Takes over the table of the configuration before, or opens one. false: told why not.
bool open_table(ngx_conf_t* cf, MainConf& conf, const MainConf* old) {
  conf.table_options = gate::table_options(*conf.policies);
  if (conf.memory) {
    conf.table_options.memory = conf.memory->bytes;
    conf.table_options.file = conf.memory->file;
  }
  const bool had_table = old != nullptr && old->table != nullptr;
  if (had_table && old->table_options.memory == conf.table_options.memory &&
      old->table_options.file == conf.table_options.file) {
    conf.table = old->table;
    return true;
  }
  auto opened = store::Table::open(conf.table_options);
  if (!opened) {
    fault(cf, opened.error());
    return false;
  }
  conf.table = *std::move(opened);
  if (had_table) {
    ngx_conf_log_error(NGX_LOG_NOTICE, cf, 0,
                       "the table has another size or file: quotas kept in the old one are lost");
  }
  return true;
}

ngx_int_t add_handler(ngx_conf_t* cf, ngx_http_phases phase, ngx_http_handler_pt handler) noexcept {
  auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  void* place = ngx_array_push(&core->phases[phase].handlers);
  if (place == nullptr) return NGX_ERROR;
  *static_cast<ngx_http_handler_pt*>(place) = handler;
  return NGX_OK;
}

extern "C" ngx_int_t init(ngx_conf_t* cf) noexcept {
  auto& conf =
      *static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_headgate_module));
  if (conf.policies == nullptr) return NGX_OK;
  try {
    const MainConf* old = previous_conf(cf->cycle);
    if (!open_table(cf, conf, old)) return NGX_ERROR;
    std::vector<std::string> names;
    for (const policy::Policy& policy : conf.policies->policies()) names.push_back(policy.name);
    conf.counters =
        nginx::Counters::open(std::move(names), old == nullptr ? nullptr : old->counters);
    conf.gate.emplace(conf.policies, *conf.table, conf.table->secret(), conf.counters->policies());
    conf.reads_bodies = conf.policies->needs_body_bytes();
    conf.late_costs = std::ranges::any_of(conf.policies->policies(), [](const auto& policy) {
      return policy.cost_time == policy::CostTime::response;
    });
  } catch (const std::exception& e) {
    fault(cf, e.what());
    return NGX_ERROR;
  }
  // Handlers of a phase run last first, so this one runs before the rewrite module's.
  if (add_handler(cf, NGX_HTTP_REWRITE_PHASE, rewrite_handler) != NGX_OK) return NGX_ERROR;
  if (add_handler(cf, NGX_HTTP_LOG_PHASE, log_handler) != NGX_OK) return NGX_ERROR;
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = header_filter;
  if (conf.late_costs) {
    next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = body_filter;
  }
  if (conf.reads_bodies) {
    next_request_body_filter = ngx_http_top_request_body_filter;
    ngx_http_top_request_body_filter = request_body_filter;
  }
  return NGX_OK;
}

// The new configuration is in force.
extern "C" ngx_int_t init_module(ngx_cycle_t* cycle) noexcept {
  const MainConf* old = previous_conf(cycle);
  if (old != nullptr && old->gate) {
    old->counters->module().reloads.fetch_add(1, std::memory_order_relaxed);
  }
  return NGX_OK;
}

}  // namespace
