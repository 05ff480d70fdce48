#include "headgate/nginx/context.h"

#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "headgate/nginx/conf.h"
#include "headgate/nginx/job.h"
#include "headgate/nginx/turn.h"

namespace headgate::nginx {
namespace {

// A context with memory for its items, keys and texts, reused from request to request. What does
// not fit goes to the request's pool. The pool alone would be slower: a few hundred bytes often
// make nginx add a block of 4 KiB, which costs as much as the decision (`./dev bench`, nginx).
struct Slot : RequestContext {
  std::size_t used;
  Slot* next;                                // while it is free
  alignas(std::max_align_t) char room[768];  // several policies' items
};
static_assert(std::is_trivially_destructible_v<Slot> && sizeof(Slot) < 1024);

// The slots that no request uses. One list per worker process.
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
  static constexpr std::size_t count_max = 1024;  // kept after a peak of requests: about 1 MiB

  Slot* first_ = nullptr;
  std::size_t count_ = 0;
};
FreeSlots free_slots;

// Of all requests that no policy matched.
RequestContext unmatched{};

// Runs at the end of a request, after its log line. find_context() recognises the pool cleanup that
// has the context by this handler.
extern "C" void context_cleanup(void* data) noexcept {
  if (data == &unmatched) return;
  auto* slot = static_cast<Slot*>(data);
  if (slot->job != nullptr) slot->job->request = nullptr;
  leave_queue(*slot);
  if (slot->matched()) slot->snapshot->release();
  free_slots.give(slot);
}

// nginx counts down with each redirect, internal or by a location's `rewrite`.
bool is_redirected(const ngx_http_request_t* r) noexcept {
  return r->uri_changes != NGX_HTTP_MAX_URI_CHANGES + 1;
}

// Mark a request that has passed what is directly in server{}, and one that has reached a location.
// There is nothing to clean up.
extern "C" void server_cleanup(void*) noexcept {}
extern "C" void location_cleanup(void*) noexcept {}

ngx_pool_cleanup_t* find_cleanup(const ngx_http_request_t* r,
                                 ngx_pool_cleanup_pt handler) noexcept {
  ngx_pool_cleanup_t* at = r->pool->cleanup;
  while (at != nullptr && at->handler != handler) at = at->next;
  return at;
}

// false: out of memory.
bool mark(ngx_http_request_t* r, ngx_pool_cleanup_pt handler) noexcept {
  if (is_redirected(r)) return true;
  ngx_pool_cleanup_t* const added = ngx_pool_cleanup_add(r->pool, 0);
  if (added == nullptr) return false;
  added->handler = handler;
  return true;
}

}  // namespace

RequestContext* find_context(ngx_http_request_t* r) noexcept {
  auto* context =
      static_cast<RequestContext*>(ngx_http_get_module_ctx(r, ngx_http_headgate_module));
  if (context != nullptr || !(r->internal || r->filter_finalize)) return context;
  const ngx_pool_cleanup_t* const owner = find_cleanup(r, context_cleanup);
  if (owner == nullptr) return nullptr;
  context = static_cast<RequestContext*>(owner->data);
  ngx_http_set_ctx(r, context, ngx_http_headgate_module);
  return context;
}

RequestContext* add_context(ngx_http_request_t* r) noexcept {
  ngx_pool_cleanup_t* owner = ngx_pool_cleanup_add(r->pool, 0);
  Slot* slot = owner == nullptr ? nullptr : free_slots.take();
  if (slot == nullptr) return nullptr;
  static_cast<RequestContext&>(*slot) = {};
  owner->data = slot;
  owner->handler = context_cleanup;
  ngx_http_set_ctx(r, slot, ngx_http_headgate_module);
  return slot;
}

RequestContext* add_unmatched(ngx_http_request_t* r) noexcept {
  ngx_pool_cleanup_t* owner = ngx_pool_cleanup_add(r->pool, 0);
  if (owner == nullptr) return nullptr;
  owner->data = &unmatched;
  owner->handler = context_cleanup;
  ngx_http_set_ctx(r, &unmatched, ngx_http_headgate_module);
  return &unmatched;
}

bool pass_server(ngx_http_request_t* r) noexcept { return mark(r, server_cleanup); }

bool pass_location(ngx_http_request_t* r) noexcept { return mark(r, location_cleanup); }

bool was_refused_early(const ngx_http_request_t* r) noexcept {
  if (r->err_status < NGX_HTTP_BAD_REQUEST || !is_redirected(r)) return false;
  // nginx answers 404 for a location that is internal, before the location's handlers.
  const bool is_hidden =
      r->err_status == NGX_HTTP_NOT_FOUND && find_cleanup(r, server_cleanup) != nullptr;
  return !is_hidden && find_cleanup(r, location_cleanup) == nullptr;
}

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

bool keep(ngx_http_request_t* r, std::string_view& text) noexcept {
  if (text.empty()) return true;
  auto* copy = static_cast<char*>(room_for(r, text.size(), 1));
  if (copy == nullptr) return false;
  std::memcpy(copy, text.data(), text.size());
  text = {copy, text.size()};
  return true;
}

}  // namespace headgate::nginx
