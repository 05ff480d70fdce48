#include "headgate/nginx/decide.h"

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "headgate/gate/gate.h"
#include "headgate/nginx/body_numbers.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/decision_log.h"
#include "headgate/nginx/job.h"
#include "headgate/nginx/mailbox.h"
#include "headgate/nginx/nginx_request.h"
#include "headgate/nginx/recording.h"
#include "headgate/nginx/superseded.h"
#include "headgate/nginx/suspension.h"
#include "headgate/nginx/turn.h"
#include "headgate/policy/request.h"

namespace headgate::nginx {
namespace {

Jobs jobs;

// A copy of a list that lasts as long as the request. std::nullopt: out of memory.
template <class T>
std::optional<std::span<T>> copied(ngx_http_request_t* r, std::span<const T> list) noexcept {
  auto* const copy = static_cast<T*>(room_for(r, list.size_bytes(), alignof(T)));
  if (copy == nullptr) return std::nullopt;
  std::uninitialized_copy(list.begin(), list.end(), copy);
  return std::span(copy, list.size());
}

// Copies the items, which the fields report. false: out of memory.
bool keep_items(ngx_http_request_t* r, RequestContext& context,
                std::span<const gate::Item> items) noexcept {
  const auto kept = copied(r, items);
  if (!kept) return false;
  for (gate::Item& item : *kept) {
    if (!item.pk.empty() && !keep(r, item.pk)) return false;
  }
  context.verdict.items = *kept;
  return true;
}

// Copies the dues, which settle() needs later. false: out of memory.
bool keep_dues(ngx_http_request_t* r, RequestContext& context,
               std::span<const gate::Due> dues) noexcept {
  if (dues.empty()) return true;
  const auto kept = copied(r, dues);
  if (!kept) return false;
  for (gate::Due& due : *kept) {
    if (!keep(r, due.key)) return false;
  }
  const auto others =
      std::ranges::partition(*kept, [](const gate::Due& due) { return due.policy->holds_slots(); });
  context.slots = static_cast<std::uint8_t>(kept->size() - others.size());
  context.verdict.dues = *kept;
  return true;
}

// Copies the list of policies that denied. false: out of memory.
bool keep_violated(ngx_http_request_t* r, RequestContext& context,
                   std::span<const policy::Policy* const> violated) noexcept {
  if (violated.empty()) return true;
  const auto kept = copied(r, violated);
  if (!kept) return false;
  context.verdict.violated = *kept;
  return true;
}

// Copies the verdict to the request's context. If there is no memory to settle it later, settles it
// now and returns false.
bool keep_verdict(ngx_http_request_t* r, RequestContext& context,
                  const gate::DecisionContext& decision) noexcept {
  context.verdict = decision.verdict;
  context.verdict.items = {};  // until they are kept
  context.verdict.dues = {};
  context.verdict.violated = {};
  context.taken = decision.now;
  log_decision(r, decision);
  if (keep_items(r, context, decision.verdict.items) &&
      keep_violated(r, context, decision.verdict.violated) &&
      keep_dues(r, context, decision.verdict.dues)) {
    return true;
  }
  context.verdict.dues = {};
  leave_queue(context);
  context.gate().settle(decision.verdict.dues, decision.now,
                        {.status = NGX_HTTP_INTERNAL_SERVER_ERROR}, decision.now);
  return false;
}

void give_up(const Job& job) noexcept {
  ngx_http_request_t* const r = job.request;
  const bool waits = r != nullptr && is_suspended(r);
  ngx_log_error(NGX_LOG_ERR, waits ? r->connection->log : ngx_cycle->log, 0,
                "the store has not answered for %M ms", patience());
  if (!waits) return;
  find_context(r)->enforceable = false;  // in case the answer comes while the response is sent
  end_suspension(r, NGX_HTTP_SERVICE_UNAVAILABLE);
}

// The job has no more use for what has decided.
void end(Job* job) noexcept {
  job->snapshot->release();
  jobs.give_back(job);
}

// The answer has come, or patience has ended.
extern "C" void job_event(ngx_event_t* event) noexcept {
  auto* const job = static_cast<Job*>(event->data);
  if (!job->decided) return give_up(*job);

  const gate::DecisionContext& decision = job->decision;
  record(*job->snapshot, decision);
  ngx_http_request_t* const r = job->request;
  if (r == nullptr) {
    if (decision.verdict.hold > 0) decision.gate().end_wait(decision.verdict);
    log_decision(nullptr, decision);
    decision.gate().settle(decision.verdict.dues, decision.now, job->response, std::nullopt,
                           gate_in_force(conf_of(const_cast<const ngx_cycle_t*>(ngx_cycle))));
    return end(job);
  }
  RequestContext& context = *find_context(r);
  context.job = nullptr;
  const bool kept = keep_verdict(r, context, decision);
  end(job);
  if (!is_suspended(r)) return leave_queue(context);
  ngx_int_t end = kept ? NGX_OK : NGX_HTTP_INTERNAL_SERVER_ERROR;
  if (context.verdict.hold > 0) {
    end = await_turn(r, context);
    if (end == NGX_OK) return;
  }
  end_suspension(r, end);
}

// Called by the gate. A decision that was outstanding is processed by the event loop, because
// another request may be in the middle of its own.
void on_decision(void* of) noexcept {
  auto* const job = static_cast<Job*>(of);
  job->decided = true;
  if (!job->outstanding) return;
  if (job->event.timer_set) ngx_del_timer(&job->event);
  ngx_post_event(&job->event, &ngx_posted_events);
}

// The decision is outstanding: the job waits for it.
void lend(Job& job, ngx_http_request_t* r, RequestContext& context) noexcept {
  jobs.lend();
  job.outstanding = true;
  job.snapshot = context.snapshot;
  job.snapshot->hold();
  job.request = r;
  job.response = {};
  job.event = {};
  job.event.data = &job;
  job.event.handler = job_event;
  job.event.log = ngx_cycle->log;
  ngx_add_timer(&job.event, patience());  // it also keeps a worker that is to exit
  context.job = &job;
}

// What settle() reports of the response.
policy::Response response_of(const ngx_http_request_t* r, const RequestContext& context) noexcept {
  policy::Response response;
  response.status =
      static_cast<unsigned>(r->err_status != 0 ? r->err_status : r->headers_out.status);
  // The bytes of the body that the connection has sent. `sent` also has framing, so the number of
  // bytes passed to the connection bounds it. What is behind a 101 passes no filter.
  const auto sent = static_cast<std::uint64_t>(
      std::max<off_t>(r->connection->sent - static_cast<off_t>(r->header_size), 0));
  const bool is_tunnel = r->upstream != nullptr && r->upstream->upgrade != 0;
  response.body_bytes = is_tunnel ? sent : std::min(context.body_bytes, sent);
  return response;
}

}  // namespace

std::optional<std::uint64_t> body_bytes_wanted(ngx_http_request_t* r) noexcept {
  MainConf& conf = main_conf(r);
  if (!conf.reads_bodies) return std::nullopt;
  follow_reload(conf);  // as decide() does
  Job* const job = jobs.spare();
  if (job == nullptr) return std::nullopt;
  const NginxHeaders headers{r->headers_in.headers};
  try {
    return conf.in_force->policies().body_bytes_wanted(client_request(r, headers),
                                                       job->decision.scratch());
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

RequestContext* decide(ngx_http_request_t* r, bool enforceable) noexcept {
  follow_reload(main_conf(r));
  const MainConf& conf = main_conf(r);
  const Snapshot& snapshot = *conf.in_force;
  const gate::Gate& gate = snapshot.gate();
  Job* const job = jobs.spare();
  store::Mailbox* const home = conf.waits ? mailbox() : nullptr;
  if (job == nullptr || (conf.waits && home == nullptr)) return nullptr;
  const NginxHeaders headers{r->headers_in.headers};
  if (!gate.prefetch(client_request(r, headers), std::nullopt,
                     loc_conf(r).dry_run ? gate::DryRun::yes : gate::DryRun::no, job->decision)) {
    return add_unmatched(r);
  }
  RequestContext* const context = add_context(r);  // while the table's cells are prefetched
  if (context == nullptr) return nullptr;
  context->snapshot = &snapshot;
  snapshot.hold();
  context->enforceable = enforceable;
  job->decided = job->outstanding = false;
  job->decision.waits = enforceable ? gate::Waits::here : gate::Waits::no;
  gate.admit(job->decision, {on_decision, job, home});
  if (!job->decided) {
    lend(*job, r, *context);
    return context;
  }
  record(snapshot, job->decision);
  return keep_verdict(r, *context, job->decision) ? context : nullptr;
}

void release_slots(ngx_http_request_t* r, RequestContext& context) noexcept {
  const std::span<const gate::Due> dues = context.verdict.dues;
  context.verdict.dues = dues.subspan(context.slots);
  context.gate().settle(dues.first(std::exchange(context.slots, std::uint8_t{0})), context.taken,
                        {}, std::nullopt, gate_in_force(&main_conf(r)));
}

void settle(ngx_http_request_t* r, RequestContext& context) noexcept {
  if (context.job != nullptr) {
    context.job->response = response_of(r, context);
    context.job->request = nullptr;
    context.job = nullptr;
    return;
  }
  if (context.verdict.dues.empty()) return;
  policy::Response response = response_of(r, context);
  std::optional<NginxHeaders> headers;
  if (r->upstream != nullptr && !is_cached(r)) {
    response.headers = &headers.emplace(r->upstream->headers_in.headers);
  }
  response.numbers = context.numbers;
  response.is_whole = context.numbers == nullptr || context.body_ended;
  context.gate().settle(context.verdict.dues, context.taken, response, std::nullopt,
                        gate_in_force(&main_conf(r)));
}

}  // namespace headgate::nginx
