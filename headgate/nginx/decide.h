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
// decision is outstanding. nullptr: out of memory. A request in a phase where it can be denied
// (`enforceable`) is to be suspended while it has a job, or is in a queue (await_turn()): then the
// suspension ends when it may go on, or with 503 if no decision comes.
[[nodiscard]] RequestContext* decide(ngx_http_request_t* r, bool enforceable) noexcept;

// Releases the slots that the request holds before its client can know that the response has ended,
// so that its next request does not find them taken. settle() releases those of all others.
void release_slots(ngx_http_request_t* r, RequestContext& context) noexcept;

// To be called once, when the response is complete or aborted.
void settle(ngx_http_request_t* r, RequestContext& context) noexcept;

}  // namespace headgate::nginx
