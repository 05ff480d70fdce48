// One connection's HTTP/2 and the calls of gRPC on it. No I/O.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/server/envoy/frame_budget.h"
#include "headgate/server/envoy/grpc_door_context.h"
#include "headgate/server/envoy/grpc_head.h"
#include "headgate/server/envoy/grpc_message.h"
#include "headgate/server/envoy/http2_memory.h"

namespace headgate::server {

// Reads frames with nghttp2 and answers each call when it is complete. What a client can make it
// keep or do is bounded: memory by Http2Memory, work by FrameBudget. A client that goes beyond is
// sent GOAWAY with ENHANCE_YOUR_CALM.
class GrpcSession {
 public:
  // Open calls at once: as many as Envoy sends to a cluster by default (its circuit breaker).
  static constexpr std::uint32_t calls_max = 1024;
  // Open streams of Watch at once: a client needs one.
  static constexpr std::size_t watches_max = 16;

  // Throws std::bad_alloc. The door outlives this; if it has stopped, so has the session. `resume`
  // is called when an answer is there to be written that was not when receive() returned.
  explicit GrpcSession(GrpcDoorContext& door, Resume resume = {});
  ~GrpcSession();
  GrpcSession(const GrpcSession&) = delete;
  GrpcSession& operator=(const GrpcSession&) = delete;

  // Takes the next bytes of the client. REQUIRES: no calls are queued.
  void receive(std::string_view bytes) noexcept;
  // Whether calls wait until the connection may be owed more answers of the store.
  [[nodiscard]] bool has_queued() const noexcept { return !queued_.empty() && !fault_; }
  // Answers those for which that is so by now.
  void answer_queued() noexcept;
  // Whether answer_queued() would answer none before another answer of the store comes.
  [[nodiscard]] bool is_full() const noexcept { return has_queued() && !may_owe_more(); }
  // Appends frames to send, until there are none or `output` has `enough` bytes. Throws
  // std::bad_alloc.
  void write(std::string& output, std::size_t enough);

  // Whether write() would append more.
  [[nodiscard]] bool wants_write() const noexcept;
  // Whether nothing is left to receive or to write.
  [[nodiscard]] bool has_ended() const noexcept;
  // Whether it ends because the client broke a rule, so that it may be sending still.
  [[nodiscard]] bool is_broken() const noexcept { return has_ended() && !stops_ && !client_ends_; }
  // Whether answers of the store are outstanding.
  [[nodiscard]] bool awaits_decisions() const noexcept { return owed_ > 0; }
  // Whether the client has said hello and no call waits for anything but a change of health.
  [[nodiscard]] bool is_idle() const noexcept {
    return said_hello_ && calls_.empty() && queued_.empty() && held_.empty() && !has_ended();
  }
  // Whether a call has shown a token that is in force, or none is needed.
  [[nodiscard]] bool is_trusted() const noexcept {
    return door_.credentials.now().knows(shown_token_);
  }
  // Returns how many calls needed the token and have shown a wrong one. They wait for their
  // refusals.
  [[nodiscard]] unsigned wrong_tokens() const noexcept { return wrong_tokens_; }
  // Sets the time before which the first of them that has none is not refused.
  void hold_until(std::chrono::steady_clock::time_point at) noexcept;
  // Refuses those whose time has come. Returns whether there are any.
  bool refuse_held(std::chrono::steady_clock::time_point now) noexcept;
  // From now on no call is answered; write() ends with GOAWAY.
  void break_off() noexcept { break_off(NGHTTP2_ENHANCE_YOUR_CALM); }
  // [bytes]
  [[nodiscard]] std::size_t memory_used() const noexcept { return memory_.used(); }
  // Returns how many calls and pings have ended so far.
  [[nodiscard]] std::uint64_t progress() const noexcept { return progress_; }

  // Resets calls that began before `since`, as GrpcDoorContext::now, and are not complete or whose
  // answers were not read. Returns whether there are any.
  bool expire(std::uint64_t since) noexcept;
  // Sends a ping if there are streams of Watch: the client's answer shows that it is there. Returns
  // whether there are any.
  bool ping_watcher() noexcept;
  // Ends the streams of Watch and tells the client to open no more calls; those that it has sent
  // before it knew are answered.
  void stop() noexcept;
  // Appends the frame that tells the client why the connection is closed.
  void say_goodbye(std::string& output) const;

 private:
  friend struct Http2Callbacks;

  struct Call;
  using Calls = std::list<Call, Http2Allocator<Call>>;

  struct Call {
    Call(GrpcSession& its_session, std::int32_t its_stream)
        : session(its_session),
          list(&session.calls_),
          stream(its_stream),
          message(session.memory_),
          answer(Http2Allocator<char>(session.memory_)),
          since(session.door_.now) {}

    GrpcSession& session;
    Calls* list;  // that it is in
    std::int32_t stream;
    GrpcHead head;
    GrpcMessage message;
    Http2String answer;          // framed
    std::size_t sent = 0;        // of the answer
    std::uint64_t since;         // [s]
    std::size_t unconsumed = 0;  // bytes of the message that count against the windows
    bool has_ended = false;      // the client has sent all
    bool has_response = false;   // that was submitted or is held; further input is ignored
    bool stays_open = false;     // more messages may follow the answer
    std::optional<std::chrono::steady_clock::time_point> held_until;
    Job::Held<DecisionJob> pending;  // while its decision is outstanding
    Calls::iterator self;

    [[nodiscard]] bool is_refused() const noexcept { return has_response && answer.empty(); }
    // Whether it may decide, or could when it came: its token may have been replaced meanwhile.
    [[nodiscard]] bool may_decide() const noexcept {
      return head.method() == GrpcMethod::should_rate_limit && head.shown_token() != 0;
    }
  };

  // Runs what one of nghttp2's callbacks does, and returns its result.
  template <class Act>
  int attempt(const Act& act) noexcept;

  [[nodiscard]] bool may_owe_more() const noexcept { return door_.answers.may_owe_more(owed_); }
  void grant_memory() noexcept;
  void move(Call& call, Calls& to) noexcept;
  [[nodiscard]] Call* call_of(std::int32_t stream) noexcept;
  void frame_begins() noexcept;
  void frame_ends(const nghttp2_frame& frame);
  void block_begins(const nghttp2_frame& frame);
  void field(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void count_field(std::size_t size) noexcept;
  void data(std::int32_t stream, std::string_view bytes);
  void goaway_sent() noexcept;
  void ping_returns(const std::uint8_t* content) noexcept;
  void stream_ends(std::int32_t stream) noexcept;
  [[nodiscard]] ssize_t read_answer(Call& call, std::uint8_t* to, std::size_t room,
                                    std::uint32_t& flags) noexcept;

  void head_ends(Call& call);
  void finish(Call& call);
  void answer(Call& call);
  void finish_decision(Call& call) noexcept;
  void refuse_or_deny(Call& call, const GrpcStatus& status);
  void give_up_longest();
  void count(const GrpcStatus& status) noexcept;
  void submit(Call& call);
  void refuse(Call& call, const GrpcStatus& status);
  void refuse(Call& call, unsigned http_status);
  void respond(Call& call, std::span<const nghttp2_nv> fields, const nghttp2_data_provider* body);
  void consume(Call& call) noexcept;
  void break_off(std::uint32_t code) noexcept;

  GrpcDoorContext& door_;
  const Resume resume_;
  Http2Memory memory_;
  nghttp2_session* session_ = nullptr;
  Calls calls_;                 // that are in none of the other lists
  Calls queued_;                // that have come whole, and wait for a place in Answers
  Calls cancelled_;             // whose decision is outstanding all the same
  Calls held_;                  // that have shown a wrong token
  Calls watches_;               // that are open and wait for a change
  std::size_t owed_ = 0;        // decisions that are outstanding
  std::size_t unconsumed_ = 0;  // of all calls
  FrameBudget frames_;
  std::optional<std::uint32_t> fault_;  // the code of GOAWAY
  bool said_goodbye_ = false;
  bool said_hello_ = false;        // the client's first settings have arrived
  std::uint64_t shown_token_ = 0;  // as Secrets::knows() takes it
  unsigned wrong_tokens_ = 0;
  bool client_ends_ = false;  // it has sent GOAWAY
  bool stops_ = false;
  bool asked_whether_all_arrived_ = false;  // the ping that follows the announcement of the stop
  std::size_t block_size_ = 0;              // of the header block that is being received, decoded
  std::uint64_t progress_ = 0;
};

}  // namespace headgate::server
