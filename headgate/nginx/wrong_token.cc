#include "headgate/nginx/wrong_token.h"

#include <algorithm>
#include <new>
#include <utility>

#include "headgate/nginx/conf.h"
#include "headgate/nginx/interval.h"
#include "headgate/nginx/send.h"

namespace headgate::nginx {
namespace {

// How long the answer waits at least: people hardly notice it.
constexpr ngx_msec_int_t delay = 100;
constexpr ngx_msec_int_t apart = 10;  // between two answers
constexpr ngx_msec_int_t wait_max = 10'000;

// Of a worker.
ngx_msec_t last_answer = 0;
Interval between_reports(10'000);
ngx_uint_t unreported = 0;

struct LateAnswer {
  ngx_http_request_t* request;
  view::Page page;
  ngx_event_t event{};
};

void report(const ngx_http_request_t* r) noexcept {
  ++unreported;
  if (!between_reports.restart_if_over()) return;
  ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "headgate: wrong admin tokens: %ui",
                std::exchange(unreported, 0));
}

extern "C" void answer_late(ngx_event_t* event) noexcept {
  auto* const late = static_cast<LateAnswer*>(event->data);
  ngx_http_request_t* const r = late->request;
  ngx_http_set_log_request(r->connection->log, r);
  r->keepalive = 0;
  answer_awaited(r, send_page(r, late->page));
}

// The request ends, with its answer or before.
extern "C" void forget(void* data) noexcept {
  auto* const late = static_cast<LateAnswer*>(data);
  if (late->event.timer_set) ngx_del_timer(&late->event);
  late->~LateAnswer();
}

}  // namespace

ngx_int_t refuse_wrong_token(ngx_http_request_t* r, view::Page page) {
  main_conf(r).counters->module().wrong_tokens.fetch_add(1, std::memory_order_relaxed);
  report(r);
  const ngx_msec_int_t wait =
      std::max(delay, static_cast<ngx_msec_int_t>(last_answer + apart - ngx_current_msec));
  if (wait > wait_max) return NGX_HTTP_CLOSE;
  last_answer = ngx_current_msec + static_cast<ngx_msec_t>(wait);
  ngx_pool_cleanup_t* const cleanup = ngx_pool_cleanup_add(r->pool, sizeof(LateAnswer));
  if (cleanup == nullptr || !may_wait(r)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  auto* const late = new (cleanup->data) LateAnswer{r, std::move(page)};
  cleanup->handler = forget;
  late->event.data = late;
  late->event.handler = answer_late;
  late->event.log = r->connection->log;
  ngx_add_timer(&late->event, static_cast<ngx_msec_t>(wait));
  await_answer(r);
  return NGX_DONE;
}

}  // namespace headgate::nginx
