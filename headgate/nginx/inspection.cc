#include "headgate/nginx/inspection.h"

#include <exception>
#include <memory>

#include "headgate/gate/decision_context.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/mailbox.h"
#include "headgate/nginx/recording.h"
#include "headgate/nginx/send.h"
#include "headgate/nginx/snapshot.h"
#include "headgate/view/problem_page.h"
#include "headgate/view/state_page.h"

namespace headgate::nginx {
namespace {

// Until the store has answered.
struct Inspection {
  Inspection(const Snapshot& its_snapshot, gate::Refill its_refill)
      : snapshot(&its_snapshot), refill(its_refill) {
    snapshot->hold();
  }
  ~Inspection() { snapshot->release(); }
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // `stats` may be null.
  [[nodiscard]] view::Page page(const WorkerStats* stats) const {
    const gate::CheckResult& looked_at = decision.results[0];
    const auto id = snapshot->labels().id(looked_at.name, looked_at.partition);
    const view::SeenDenial denial{stats == nullptr || !id ? std::nullopt : stats->last_denial(*id),
                                  recording_time()};
    return refill == gate::Refill::yes ? view::reset_page(decision.results, denial)
                                       : view::state_page(decision.results, denial);
  }

  const Snapshot* snapshot;
  gate::Refill refill;
  gate::DecisionContext decision;
  bool decided = false;      // the store has answered
  bool outstanding = false;  // the store did not answer at once
  // While it is outstanding:
  ngx_http_request_t* request = nullptr;  // nullptr: it has ended, or has been answered
  ngx_http_cleanup_t* cleanup = nullptr;  // of the request
  ngx_event_t event{};                    // the answer, or the end of patience
};

// The request ends before its answer.
extern "C" void forget_request(void* inspection) noexcept {
  static_cast<Inspection*>(inspection)->request = nullptr;
}

void answer(Inspection& inspection) noexcept {
  ngx_http_request_t* const r = inspection.request;
  if (r == nullptr) return;
  inspection.request = nullptr;
  inspection.cleanup->handler = nullptr;
  ngx_http_set_log_request(r->connection->log, r);
  ngx_int_t rc = NGX_HTTP_INTERNAL_SERVER_ERROR;
  try {
    rc = send_page(r, inspection.decided ? inspection.page(main_conf(r).worker_stats.get())
                                         : view::problem_page(503, "the store has not answered"));
  } catch (const std::exception&) {  // only std::bad_alloc
  }
  answer_awaited(r, rc);
}

// The answer has come, or patience has ended.
extern "C" void inspection_event(ngx_event_t* event) noexcept {
  auto* const inspection = static_cast<Inspection*>(event->data);
  const bool is_over = inspection->decided;
  answer(*inspection);
  if (is_over) delete inspection;
}

// Called by the gate. As with decisions, the event loop does the rest.
void on_inspected(void* of) noexcept {
  auto* const inspection = static_cast<Inspection*>(of);
  inspection->decided = true;
  if (!inspection->outstanding) return;
  if (inspection->event.timer_set) ngx_del_timer(&inspection->event);
  ngx_post_event(&inspection->event, &ngx_posted_events);
}

// The request waits for the answer.
void suspend(ngx_http_request_t* r, Inspection& inspection) noexcept {
  inspection.outstanding = true;
  inspection.request = r;
  inspection.cleanup->data = &inspection;
  inspection.cleanup->handler = forget_request;
  inspection.event.data = &inspection;
  inspection.event.handler = inspection_event;
  inspection.event.log = ngx_cycle->log;
  ngx_add_timer(&inspection.event, patience());  // it also keeps a worker that is to exit
  await_answer(r);
}

}  // namespace

ngx_int_t inspect(ngx_http_request_t* r, const view::PartitionPath& partition,
                  gate::Refill refill) {
  const MainConf& conf = main_conf(r);
  store::Mailbox* const home = conf.waits ? mailbox() : nullptr;
  if (conf.waits && home == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  auto inspection = std::make_unique<Inspection>(*conf.in_force, refill);
  inspection->cleanup = ngx_http_cleanup_add(r, 0);
  if (inspection->cleanup == nullptr || !may_wait(r)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  const Snapshot& snapshot = *inspection->snapshot;
  const auto fault =
      snapshot.gate().inspect(partition.policy, partition.key, refill, std::nullopt,
                              inspection->decision, {on_inspected, inspection.get(), home});
  if (fault) {
    return send_page(r, view::inspect_fault_page(*fault, snapshot.policies(), partition.policy));
  }
  if (inspection->decided) return send_page(r, inspection->page(conf.worker_stats.get()));
  suspend(r, *inspection.release());
  return NGX_DONE;
}

}  // namespace headgate::nginx
