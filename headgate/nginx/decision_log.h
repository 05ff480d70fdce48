// The decision log of nginx: lines go through a buffer of each worker to one of nginx's own open
// files, which nginx opens again with each reload and on SIGUSR1 (`nginx -s reopen`).
//
// Not thread-safe: a worker has one thread.
#pragma once

#include "headgate/gate/decision_context.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// To be called when the policies have been read: opens their log, if they have one. Returns false
// after logging the reason.
[[nodiscard]] bool open_decision_log(ngx_conf_t* cf, MainConf& conf) noexcept;

// Logs a decision, if the policies say so. `r` is nullptr if the request has ended.
void log_decision(ngx_http_request_t* r, const gate::DecisionContext& decision) noexcept;

// To be called when the worker ends: writes what is in its buffer.
void flush_decision_log() noexcept;

}  // namespace headgate::nginx
