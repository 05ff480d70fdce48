// The module's memory of a request, from its decision to its log line.
//
// Not thread-safe: a worker has many requests at a time, but one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/gate/verdict.h"
#include "headgate/nginx/ngx.h"
#include "headgate/nginx/snapshot.h"

namespace headgate::nginx {

struct Job;
class PassingNumbers;

struct RequestContext {
  const Snapshot* snapshot;  // that decides, held; nullptr: no policy matched
  gate::Verdict verdict;     // what it points to is in this context's memory
  Instant taken;             // when its charges were taken
  std::uint64_t body_bytes;  // of the response, as passed to the connection
  PassingNumbers* numbers;   // of its JSON; nullptr: it is not read
  bool body_ended;           // its last byte has passed, if it is read
  std::uint8_t slots;        // so many dues, from the first, are slots that are held
  bool enforceable;          // decided before nginx responded, so that it can be denied
  std::uint8_t fields;       // that were added, one behind the other
  Job* job;                  // while the decision is outstanding; `verdict` is empty until then
  ngx_event_t* turn;         // the end of its wait for its turn; nullptr: it does not wait
  const u_char* own_value;   // of the first field that was added; nullptr: none

  [[nodiscard]] bool matched() const noexcept { return snapshot != nullptr; }
  // REQUIRES: matched().
  [[nodiscard]] const gate::Gate& gate() const noexcept { return snapshot->gate(); }
};

// Returns the request's context, also after an internal redirect, when nginx has cleared its
// pointer. nullptr if it has none yet.
[[nodiscard]] RequestContext* find_context(ngx_http_request_t* r) noexcept;

// Gives the request a context until its end; it says that no policy matched. nullptr: out of
// memory.
[[nodiscard]] RequestContext* add_context(ngx_http_request_t* r) noexcept;

// Gives the request the one context that all requests without a matching policy share. nullptr: out
// of memory.
[[nodiscard]] RequestContext* add_unmatched(ngx_http_request_t* r) noexcept;

// To be called when a request has passed what is directly in server{}, before nginx looks for its
// location. false: out of memory.
[[nodiscard]] bool pass_server(ngx_http_request_t* r) noexcept;

// To be called when a request without a context reaches a location that does not decide it. false:
// out of memory.
[[nodiscard]] bool pass_location(ngx_http_request_t* r) noexcept;

// Returns whether a request without a context is for the error_page of an error that came before
// any location: in the request itself, or of a `return` in server{}. Not if the page replaces the
// status by one below 400, or its location's (`error_page 418 = @other`): then it is an answer like
// others. Whether a status from 400 on is the error's or the page's own does not show.
[[nodiscard]] bool was_refused_early(const ngx_http_request_t* r) noexcept;

// Returns memory that lasts until the end of the request: in its context if there is room.
// nullptr: out of memory.
[[nodiscard]] void* room_for(ngx_http_request_t* r, std::size_t bytes,
                             std::size_t alignment) noexcept;

// Copies a text to memory that lasts until the end of the request. false: out of memory.
[[nodiscard]] bool keep(ngx_http_request_t* r, std::string_view& text) noexcept;

}  // namespace headgate::nginx
