#include "headgate/nginx/turn.h"

#include "headgate/nginx/suspension.h"

namespace headgate::nginx {
namespace {

extern "C" void turn_event(ngx_event_t* event) noexcept {
  auto* const r = static_cast<ngx_http_request_t*>(event->data);
  leave_queue(*find_context(r));
  if (is_suspended(r)) end_suspension(r, NGX_OK);
}

}  // namespace

ngx_int_t await_turn(ngx_http_request_t* r, RequestContext& context) noexcept {
  auto* const event =
      static_cast<ngx_event_t*>(room_for(r, sizeof(ngx_event_t), alignof(ngx_event_t)));
  if (event == nullptr) {
    leave_queue(context);
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  *event = {};
  event->data = r;
  event->handler = turn_event;
  event->log = r->connection->log;
  context.turn = event;
  // nginx counts from when it last looked at the clock, so this may end almost 1 ms early.
  ngx_add_timer(event, static_cast<ngx_msec_t>(ceil_milliseconds(context.verdict.hold)) + 1);
  return NGX_OK;
}

void leave_queue(RequestContext& context) noexcept {
  if (context.turn != nullptr && context.turn->timer_set) ngx_del_timer(context.turn);
  context.turn = nullptr;
  if (context.verdict.hold > 0) context.gate().end_wait(context.verdict);
  context.verdict.hold = 0;
}

}  // namespace headgate::nginx
