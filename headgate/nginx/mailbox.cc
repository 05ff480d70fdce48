#include "headgate/nginx/mailbox.h"

#include <exception>
#include <memory>
#include <utility>

#include "headgate/nginx/ngx.h"

namespace headgate::nginx {
namespace {

std::unique_ptr<store::Mailbox> opened;

extern "C" void deliver(ngx_event_t*) noexcept { opened->deliver(); }

}  // namespace

void open_mailbox(const MainConf& conf) noexcept {
  const bool serves = ngx_process == NGX_PROCESS_WORKER || ngx_process == NGX_PROCESS_SINGLE;
  if (!serves || !conf.waits || mailbox() != nullptr) return;
  ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0,
                "headgate: this worker has no connection, descriptor or memory for answers of "
                "Redis; until it has, it answers requests that it would limit with 500");
}

store::Mailbox* mailbox() noexcept {
  if (opened != nullptr) return opened.get();
  try {
    auto fresh = std::make_unique<store::Mailbox>();
    auto* cycle = const_cast<ngx_cycle_t*>(ngx_cycle);
    if (ngx_add_channel_event(cycle, fresh->fd(), NGX_READ_EVENT, deliver) != NGX_OK) {
      return nullptr;
    }
    opened = std::move(fresh);
  } catch (const std::exception& e) {
    ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0, "headgate: %s", e.what());
  }
  return opened.get();
}

}  // namespace headgate::nginx
