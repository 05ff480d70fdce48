// One request's decision: asked for, waited for, and settled.
//
// A store that answers at once needs no more than decide() and settle(). Otherwise the request's
// context has a job until the answer comes: a request that waits is suspended and takes up its
// phases again; the others go on without a verdict. A request that ends before is settled as soon
// as its answer is there.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// PolicySet::body_bytes_wanted() for this request; std::nullopt also if memory is exhausted.
[[nodiscard]] std::optional<std::uint64_t> body_bytes_wanted(ngx_http_request_t* r) noexcept;

// Has the gate decide the request. Returns its context, which has the verdict, or a job if the
// decision is outstanding. nullptr: out of memory.
[[nodiscard]] RequestContext* decide(ngx_http_request_t* r, bool enforceable) noexcept;

// Suspends a request in the rewrite phase until its decision is there, and then calls `resume`. A
// request whose decision does not come is answered with 503. Returns what the phase's handler has
// to return. REQUIRES: context.job
[[nodiscard]] ngx_int_t wait_for_decision(ngx_http_request_t* r,
                                          ngx_http_event_handler_pt resume) noexcept;

// To be called once, when the response is complete or aborted.
void settle(ngx_http_request_t* r, RequestContext& context) noexcept;

}  // namespace headgate::nginx
