#include "headgate/server/envoy/grpc_session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "headgate/server/envoy/big_endian.h"

namespace headgate::server {
namespace {

// Bytes of messages that a connection may have sent without being complete: a few of the longest.
// Complete ones are taken at once.
constexpr std::int32_t incomplete_max = 256 * 1024;
// Twice as much: nghttp2 enlarges the window when half of it was consumed, so that no client can
// use it up and wait for ever.
constexpr std::int32_t window = 2 * incomplete_max;
// A stream's window is never enlarged: it has room for the longest message.
constexpr std::uint32_t stream_window = GrpcMessage::size_max + GrpcMessage::prefix_bytes;
// The most bytes of a decoded header block. A head of more than GrpcHead::size_max is refused; one
// of more than this is an attack on the decoder.
constexpr std::size_t block_max = 4 * GrpcHead::size_max;

// The content of the ping that follows the announcement of a stop.
constexpr std::array<std::uint8_t, 8> stopping = {'s', 't', 'o', 'p', 'p', 'i', 'n', 'g'};

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(bytes), size};
}

// A field whose texts live until it is sent, or (`copied`) only during the call.
nghttp2_nv field_of(std::string_view name, std::string_view value, bool copied = false) noexcept {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  constexpr int kept = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
  return {bytes(name), bytes(value), name.size(), value.size(),
          static_cast<std::uint8_t>(copied ? NGHTTP2_NV_FLAG_NONE : kept)};
}

void* allocate(std::size_t size, void* memory) noexcept {
  return static_cast<Http2Memory*>(memory)->resize(nullptr, size);
}
void* allocate_zeroed(std::size_t count, std::size_t size, void* memory) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* const found = allocate(bytes, memory);
  if (found != nullptr) std::memset(found, 0, bytes);
  return found;
}
void* reallocate(void* old, std::size_t size, void* memory) noexcept {
  return static_cast<Http2Memory*>(memory)->resize(old, size);
}
void release(void* old, void* memory) noexcept {
  if (old != nullptr) static_cast<Http2Memory*>(memory)->release(old);
}

GrpcSession& self_of(void* user_data) noexcept { return *static_cast<GrpcSession*>(user_data); }

template <class Made, class Make>
Made* made(Make make) {
  Made* found = nullptr;
  if (make(&found) != 0) throw std::bad_alloc();
  return found;
}

}  // namespace

Http2Callbacks::Http2Callbacks()
    : callbacks(made<nghttp2_session_callbacks>(nghttp2_session_callbacks_new)),
      option(made<nghttp2_option>(nghttp2_option_new)) {
  nghttp2_session_callbacks* const to = callbacks.get();
  nghttp2_session_callbacks_set_on_begin_frame_callback(
      to, [](nghttp2_session*, const nghttp2_frame_hd*, void* self) {
        return self_of(self).attempt([&] { self_of(self).frame_begins(); });
      });
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      to, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
        return self_of(self).attempt([&] { self_of(self).block_begins(*frame); });
      });
  nghttp2_session_callbacks_set_on_header_callback(
      to, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
             std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
             void* self) {
        return self_of(self).attempt([&] {
          self_of(self).field(*frame, text_of(name, name_size), text_of(value, value_size));
        });
      });
  nghttp2_session_callbacks_set_on_invalid_header_callback(
      to, [](nghttp2_session*, const nghttp2_frame*, const std::uint8_t*, std::size_t name_size,
             const std::uint8_t*, std::size_t value_size, std::uint8_t, void* self) {
        return self_of(self).attempt([&] { self_of(self).count_field(name_size + value_size); });
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      to, [](nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
             std::size_t size, void* self) {
        return self_of(self).attempt([&] { self_of(self).data(stream, text_of(bytes, size)); });
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      to, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
        return self_of(self).attempt([&] { self_of(self).frame_ends(*frame); });
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      to, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
        if (frame->hd.type == NGHTTP2_GOAWAY) self_of(self).goaway_sent();
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      to, [](nghttp2_session*, std::int32_t stream, std::uint32_t, void* self) {
        self_of(self).stream_ends(stream);
        return 0;
      });
  // Flow control is ours, so that messages that are not complete count against the window.
  nghttp2_option_set_no_auto_window_update(option.get(), 1);
  nghttp2_option_set_no_closed_streams(option.get(), 1);
  // Resets are counted by FrameBudget. nghttp2 would allow 33 per second, and a proxy whose calls
  // time out under load sends more.
  constexpr std::uint64_t any = std::uint64_t{1} << 32;
  nghttp2_option_set_stream_reset_rate_limit(option.get(), any, any);
}

GrpcSession::GrpcSession(GrpcDoorContext& door, Resume resume)
    : door_(door),
      resume_(resume),
      memory_(door.memory),
      calls_(Http2Allocator<Call>(memory_)),
      queued_(Http2Allocator<Call>(memory_)),
      cancelled_(Http2Allocator<Call>(memory_)),
      held_(Http2Allocator<Call>(memory_)),
      watches_(Http2Allocator<Call>(memory_)),
      frames_(door.now) {
  memory_.trust(is_trusted());
  nghttp2_mem memory{&memory_, allocate, release, allocate_zeroed, reallocate};
  if (nghttp2_session_server_new3(&session_, door.http2.callbacks.get(), this,
                                  door.http2.option.get(), &memory) != 0) {
    throw std::bad_alloc();
  }
  const std::array<nghttp2_settings_entry, 4> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, calls_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GrpcHead::size_max},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  }};
  if (nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0 ||
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window) != 0) {
    nghttp2_session_del(session_);
    throw std::bad_alloc();
  }
  if (door.services.is_stopped()) stop();
}

GrpcSession::~GrpcSession() { nghttp2_session_del(session_); }

void GrpcSession::receive(std::string_view bytes) noexcept {
  if (!frames_.take_bytes(bytes.size(), door_.now)) break_off(NGHTTP2_ENHANCE_YOUR_CALM);
  if (fault_) return;
  grant_memory();  // another token may be in force meanwhile
  const auto taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken >= 0) return;
  switch (taken) {
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
      return break_off(NGHTTP2_PROTOCOL_ERROR);
    case NGHTTP2_ERR_NOMEM:
    case NGHTTP2_ERR_FLOODED:
      return break_off(NGHTTP2_ENHANCE_YOUR_CALM);
    default:
      return break_off(NGHTTP2_INTERNAL_ERROR);
  }
}

void GrpcSession::write(std::string& output, std::size_t enough) {
  while (!fault_ && output.size() < enough) {
    const std::uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &bytes);
    if (size == 0) return;
    if (size < 0) {
      break_off(NGHTTP2_ENHANCE_YOUR_CALM);
    } else {
      output.append(text_of(bytes, static_cast<std::size_t>(size)));
    }
  }
  if (fault_ && !std::exchange(said_goodbye_, true)) say_goodbye(output);
}

bool GrpcSession::wants_write() const noexcept {
  return fault_ ? !said_goodbye_ : nghttp2_session_want_write(session_) != 0;
}

bool GrpcSession::has_ended() const noexcept {
  return !wants_write() && (fault_ || nghttp2_session_want_read(session_) == 0);
}

bool GrpcSession::expire(std::uint64_t since) noexcept {
  bool found = false;
  for (const Calls* const list : {&calls_, &queued_}) {
    for (const Call& call : *list) {
      if (call.since >= since) continue;
      found = true;
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
    }
  }
  return found;
}

bool GrpcSession::ping_watcher() noexcept {
  return !watches_.empty() && nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr) == 0;
}

void GrpcSession::stop() noexcept {
  if (std::exchange(stops_, true)) return;
  attempt([&] {
    for (Call& call : watches_) {
      door_.services.put_health(call.answer);
      call.stays_open = false;
      nghttp2_session_resume_data(session_, call.stream);
    }
  });
  nghttp2_submit_shutdown_notice(session_);
}

// The ping must come after the announcement of the stop, and nghttp2 sends pings before all else.
void GrpcSession::goaway_sent() noexcept {
  if (!stops_ || std::exchange(asked_whether_all_arrived_, true)) return;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, stopping.data());
}

void GrpcSession::say_goodbye(std::string& output) const {
  const auto put = [&](std::uint32_t number) {
    const auto bytes = big_endian(number);
    output.append(bytes.data(), bytes.size());
  };
  constexpr std::uint32_t size = 8;
  put(size << 8 | NGHTTP2_GOAWAY);
  output.append(5, '\0');  // flags and stream
  put(static_cast<std::uint32_t>(nghttp2_session_get_last_proc_stream_id(session_)));
  put(fault_.value_or(NGHTTP2_NO_ERROR));
}

// An exception, which is std::bad_alloc, and a fault end the connection.
template <class Act>
int GrpcSession::attempt(const Act& act) noexcept {
  try {
    act();
  } catch (const std::exception&) {
    break_off(NGHTTP2_ENHANCE_YOUR_CALM);
  }
  return fault_ ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

void GrpcSession::break_off(std::uint32_t code) noexcept {
  if (!fault_) fault_ = code;
}

// A connection whose token was replaced keeps its memory until the calls that came before are
// answered, which they are, or reset, in a limited time.
void GrpcSession::grant_memory() noexcept {
  const auto lists = {&calls_, &queued_, &cancelled_};
  memory_.trust(is_trusted() || std::ranges::any_of(lists, [](const Calls* list) {
                  return std::ranges::any_of(*list, &Call::may_decide);
                }));
}

void GrpcSession::move(Call& call, Calls& to) noexcept {
  to.splice(to.end(), *std::exchange(call.list, &to), call.self);
}

GrpcSession::Call* GrpcSession::call_of(std::int32_t stream) noexcept {
  return static_cast<Call*>(nghttp2_session_get_stream_user_data(session_, stream));
}

void GrpcSession::frame_begins() noexcept {
  if (!frames_.take_frame(door_.now)) break_off(NGHTTP2_ENHANCE_YOUR_CALM);
}

void GrpcSession::block_begins(const nghttp2_frame& frame) {
  block_size_ = 0;
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST) return;
  Call& call = calls_.emplace_back(*this, frame.hd.stream_id);
  call.self = std::prev(calls_.end());
  nghttp2_session_set_stream_user_data(session_, call.stream, &call);
}

void GrpcSession::count_field(std::size_t size) noexcept {
  block_size_ += size + GrpcHead::field_overhead;
  if (block_size_ > block_max) break_off(NGHTTP2_ENHANCE_YOUR_CALM);
}

void GrpcSession::field(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  count_field(name.size() + value.size());
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST) return;  // trailers mean nothing to us
  if (Call* const call = call_of(frame.hd.stream_id)) {
    call->head.take(name, value, door_.credentials.now());
  }
}

void GrpcSession::frame_ends(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_SETTINGS:
      said_hello_ = true;
      return;
    case NGHTTP2_PING:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) ping_returns(frame.ping.opaque_data);
      return;
    case NGHTTP2_GOAWAY:
      client_ends_ = true;
      return;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
      break;
    default:
      return;
  }
  Call* const call = call_of(frame.hd.stream_id);
  if (call == nullptr) return;
  call->has_ended = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    head_ends(*call);
  }
  if (call->has_ended && !call->has_response && !call->pending) finish(*call);
  if (unconsumed_ > incomplete_max) give_up_longest();
}

void GrpcSession::ping_returns(const std::uint8_t* content) noexcept {
  ++progress_;
  if (!stops_ || std::memcmp(content, stopping.data(), stopping.size()) != 0) return;
  // All that the client sent before it knew of the stop has arrived.
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void GrpcSession::head_ends(Call& call) {
  if (const auto status = call.head.http_fault()) return refuse(call, *status);
  const Secrets& secrets = door_.credentials.now();
  if (call.head.shown_token() != 0) {
    shown_token_ = call.head.shown_token();
    grant_memory();
  }
  const GrpcStatus status = call.head.refusal(secrets);
  if (status.code == GrpcCode::unauthenticated && call.head.shows_wrong_token()) {
    ++wrong_tokens_;
    call.has_response = true;
    return move(call, held_);
  }
  if (!status.ok()) refuse_or_deny(call, status);
}

void GrpcSession::hold_until(std::chrono::steady_clock::time_point at) noexcept {
  const auto next =
      std::find_if(held_.begin(), held_.end(), [](const Call& call) { return !call.held_until; });
  if (next != held_.end()) next->held_until = at;
}

bool GrpcSession::refuse_held(std::chrono::steady_clock::time_point now) noexcept {
  bool found = false;
  for (auto next = held_.begin(); next != held_.end();) {
    Call& call = *next++;
    if (!call.held_until || *call.held_until > now) continue;
    found = true;
    move(call, calls_);
    attempt([&] { refuse(call, call.head.refusal(door_.credentials.now())); });
  }
  return found;
}

void GrpcSession::data(std::int32_t stream, std::string_view bytes) {
  Call* const call = call_of(stream);
  if (call != nullptr && !call->is_refused() && is_trusted()) {
    frames_.give_back_message(bytes.size());
  }
  if (call == nullptr || call->has_response) {
    nghttp2_session_consume_connection(session_, bytes.size());
    // Clients of gRPC take a response for whole only when they have sent their message.
    if (call != nullptr) nghttp2_session_consume_stream(session_, stream, bytes.size());
    return;
  }
  call->unconsumed += bytes.size();
  unconsumed_ += bytes.size();
  if (const GrpcStatus status = call->message.take(bytes); !status.ok()) {
    refuse_or_deny(*call, status);
  }
}

// Messages that come together must not wait for each other's end: then no call would be answered.
void GrpcSession::give_up_longest() {
  const auto longest = std::max_element(
      calls_.begin(), calls_.end(),
      [](const Call& one, const Call& other) { return one.unconsumed < other.unconsumed; });
  refuse_or_deny(*longest,
                 {GrpcCode::resource_exhausted,
                  "the connection's messages that have not come whole have more than " +
                      std::to_string(incomplete_max) + " bytes, and this is the longest"});
}

// Refuses a call, or denies it if it is too long. Envoy's clients make a message too long, by a
// header field that several descriptors have, and metadata, by a field that tracing passes on; and
// Envoy admits a request whose call fails.
void GrpcSession::refuse_or_deny(Call& call, const GrpcStatus& status) {
  count(status);
  const bool is_too_long = status.code == GrpcCode::resource_exhausted;
  if (!is_too_long || call.head.method() != GrpcMethod::should_rate_limit) {
    return refuse(call, status);
  }
  if (is_trusted()) frames_.answered();
  door_.services.put_denial(call.answer);
  submit(call);
}

// Counts a call that cannot be read. Other codes tell of its caller, of what it names and of this
// server.
void GrpcSession::count(const GrpcStatus& status) noexcept {
  const bool is_unreadable = status.code == GrpcCode::invalid_argument ||
                             status.code == GrpcCode::resource_exhausted ||
                             status.code == GrpcCode::internal;
  if (is_unreadable) door_.stats.unreadable(DoorKind::grpc);
}

void GrpcSession::consume(Call& call) noexcept {
  unconsumed_ -= call.unconsumed;
  nghttp2_session_consume_connection(session_, std::exchange(call.unconsumed, 0));
}

void GrpcSession::finish(Call& call) {
  if (is_trusted()) frames_.answered();
  if (const GrpcStatus status = call.message.end(); !status.ok()) {
    door_.stats.unreadable(DoorKind::grpc);
    return refuse(call, status);
  }
  const bool decides = call.head.method() == GrpcMethod::should_rate_limit;
  if (decides && (has_queued() || !may_owe_more())) {
    consume(call);
    return move(call, queued_);
  }
  answer(call);
}

void GrpcSession::answer_queued() noexcept {
  while (has_queued() && may_owe_more()) {
    Call& next = queued_.front();
    move(next, calls_);
    attempt([&] { answer(next); });
  }
}

// Answers a call that has come whole, or waits for its decision.
void GrpcSession::answer(Call& call) {
  const GrpcMethod method = *call.head.method();
  const bool watches = method == GrpcMethod::health_watch;
  if (watches && watches_.size() >= watches_max) {
    return refuse(call,
                  {GrpcCode::resource_exhausted, "expected at most " + std::to_string(watches_max) +
                                                     " streams of Watch in one connection"});
  }
  const Resume then{[](void* of) noexcept {
                      auto& decided = *static_cast<Call*>(of);
                      decided.session.finish_decision(decided);
                    },
                    &call};
  const GrpcStatus status =
      door_.services.answer(method, call.message.body(), call.answer, call.pending, then);
  if (!status.ok()) {
    count(status);
    return refuse(call, status);
  }
  if (call.pending) {
    ++owed_;
    call.message.clear();
    return consume(call);
  }
  if (watches && !stops_) {
    call.stays_open = true;
    move(call, watches_);
  }
  submit(call);
}

// The store has answered.
void GrpcSession::finish_decision(Call& call) noexcept {
  const auto job = std::move(call.pending);
  --owed_;
  if (call.list == &cancelled_) {
    job->undo();
    cancelled_.erase(call.self);
    if (!has_queued()) return;
  } else {
    attempt([&] {
      door_.services.put_decision(*job, call.answer);
      submit(call);
    });
  }
  resume_();
}

// Submits the answer.
void GrpcSession::submit(Call& call) {
  static const std::array fields = {field_of(":status", "200"),
                                    field_of("content-type", "application/grpc")};
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t stream, std::uint8_t* to,
                              std::size_t room, std::uint32_t* flags, nghttp2_data_source*,
                              void* self) -> ssize_t {
    Call* const from = self_of(self).call_of(stream);
    if (from == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return self_of(self).read_answer(*from, to, room, *flags);
  };
  respond(call, fields, &provider);
}

ssize_t GrpcSession::read_answer(Call& call, std::uint8_t* to, std::size_t room,
                                 std::uint32_t& flags) noexcept {
  static const nghttp2_nv trailer = field_of("grpc-status", "0");
  const std::size_t size = std::min(room, call.answer.size() - call.sent);
  if (size == 0 && call.stays_open) return NGHTTP2_ERR_DEFERRED;
  std::memcpy(to, call.answer.data() + call.sent, size);
  call.sent += size;
  if (call.sent == call.answer.size() && !call.stays_open) {
    flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (nghttp2_submit_trailer(session_, call.stream, &trailer, 1) != 0) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }
  return static_cast<ssize_t>(size);
}

void GrpcSession::refuse(Call& call, const GrpcStatus& status) {
  const std::string code = std::to_string(static_cast<unsigned>(status.code));
  const std::string message = percent_encoded(status.what);
  const std::array fields = {
      field_of(":status", "200"), field_of("content-type", "application/grpc"),
      field_of("grpc-status", code, true), field_of("grpc-message", message, true),
      field_of("grpc-accept-encoding", "identity")};
  const bool names_encodings = status.code == GrpcCode::unimplemented;
  respond(call, std::span(fields).first(names_encodings ? 5 : 4), nullptr);
}

void GrpcSession::refuse(Call& call, unsigned http_status) {
  const std::string code = std::to_string(http_status);
  const std::array fields = {field_of(":status", code, true)};
  respond(call, fields, nullptr);
}

// Submits a response, which ends the stream if `body` is null. What the client still sends is
// discarded: a reset would come too soon for clients that have not seen the response yet, and they
// would report it instead.
void GrpcSession::respond(Call& call, std::span<const nghttp2_nv> fields,
                          const nghttp2_data_provider* body) {
  call.has_response = true;
  call.message.clear();
  if (!call.has_ended) nghttp2_session_consume_stream(session_, call.stream, call.unconsumed);
  consume(call);
  if (nghttp2_submit_response(session_, call.stream, fields.data(), fields.size(), body) != 0) {
    break_off(NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

void GrpcSession::stream_ends(std::int32_t stream) noexcept {
  Call* const call = call_of(stream);
  if (call == nullptr) return;
  consume(*call);
  ++progress_;
  nghttp2_session_set_stream_user_data(session_, stream, nullptr);
  if (call->pending) return move(*call, cancelled_);
  call->list->erase(call->self);
}

}  // namespace headgate::server
