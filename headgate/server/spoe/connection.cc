#include "headgate/server/spoe/connection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "headgate/net/spoe_hello.h"
#include "headgate/net/spoe_writer.h"
#include "headgate/server/accepts_problem.h"
#include "headgate/server/momentary.h"
#include "headgate/server/peer.h"
#include "headgate/server/receipt.h"

namespace headgate::server {
namespace {

using net::SpoeStatus;

// A person who watches the log sees within this time whether faults go on.
constexpr std::chrono::seconds logs_apart{10};

// HAProxy takes texts of at most 255 bytes, and the smallest frame has 256.
constexpr std::size_t words_max = 200;

}  // namespace

Need SpoeConnection::serve(Turn& turn) noexcept {
  moved_ = false;
  try {
    if (channel_.has_unsent()) {
      if (!channel_.flush()) return Need::nothing;
      moved_ = !channel_.has_unsent();
      return go_on();
    }
    door_.output.clear();
    take_decided();
    if (!is_full()) {
      if (more_) {
        answer(input_.pending(), turn);
      } else if (!receive(turn)) {
        return Need::nothing;
      }
    }
    turn.end_work();
    return channel_.send(door_.output) ? go_on() : Need::nothing;
  } catch (const std::exception&) {  // on bad_alloc, closes only this connection
    return Need::nothing;
  }
}

// Returns false if the connection has ended.
bool SpoeConnection::receive(const Turn& turn) {
  const std::span<char> room = input_.room(door_.input);
  const ssize_t got = channel_.receive(room);
  if (got <= 0) return got < 0 && is_momentary(errno);
  if (phase_ != Phase::lingering) {
    answer(input_.received(static_cast<std::size_t>(got), door_.input), turn);
  }
  return true;
}

// Answers whole frames until the turn is over or the answers are long enough to be sent, and keeps
// the rest of the input.
void SpoeConnection::answer(std::string_view bytes, const Turn& turn) {
  using Found = net::SpoeReader::Found;
  const std::size_t before = bytes.size();
  more_ = true;
  while (more_) {
    const Found found = reader_.read(bytes);
    if (found == Found::frame) answer(reader_.frame());
    if (found == Found::too_long) refuse(reader_.frame());
    if (found == Found::fault) fail(reader_.fault());
    bytes.remove_prefix(reader_.used());
    if (found == Found::more || phase_ == Phase::closing) more_ = false;
    if (is_full() || door_.output.size() >= Channel::together || turn.is_over()) break;
  }
  if (bytes.size() < before) moved_ = true;
  input_.keep(phase_ == Phase::closing ? std::string_view() : bytes);
}

void SpoeConnection::answer(const net::SpoeFrame& frame) {
  if (phase_ == Phase::greeting) return greet(frame);
  switch (frame.type) {
    case net::SpoeFrameType::notify:
      return notice(frame);
    case net::SpoeFrameType::haproxy_disconnect:
      return end({});
    default:
      return fail({SpoeStatus::invalid, "HAPROXY-HELLO after the handshake"});
  }
}

void SpoeConnection::greet(const net::SpoeFrame& frame) {
  if (frame.type == net::SpoeFrameType::haproxy_disconnect) return end({});
  const auto hello = net::SpoeHello::read(frame);
  if (!hello) return fail(hello.error());
  frame_max_ = std::min(hello->frame_max, net::SpoeReader::frame_most);
  pipelining_ = hello->pipelining;
  greeted_ = true;
  reader_.greet(frame_max_);
  net::SpoeWriter(door_.output, frame_max_).hello(frame_max_, pipelining_);
  phase_ = hello->healthcheck ? Phase::closing : Phase::serving;
}

void SpoeConnection::notice(const net::SpoeFrame& frame) {
  const auto notice = SpoeNotice::read(frame.payload, door_.messages);
  if (!notice) return fail({SpoeStatus::invalid, notice.error()});
  SpoeAckTerms terms = terms_of(frame);
  if (notice->response) {
    if (!settle(*notice->response)) {
      return fail(
          {SpoeStatus::invalid,
           "headgate-response: the argument receipt is not what headgate-request returned"});
    }
    terms.forgets_receipt = true;
  }
  if (notice->request) return decide(*notice->request, terms);
  write_ack(terms, door_);
}

// Returns false if the receipt is malformed. What another version of headgate has left open stays
// as it is: a fault would take the verdicts from other requests on this connection.
bool SpoeConnection::settle(const SpoeResponse& response) {
  if (response.receipt().empty()) return true;
  if (Receipt::is_of_other_version(response.receipt())) {
    warn("has sent a receipt of another version of headgate, which is not settled");
    return true;
  }
  WorkerContext& worker = door_.worker;
  const PolicySnapshot& snapshot = worker.in_force();
  const auto receipt =
      Receipt::read(response.receipt(), snapshot.policies(), time_of(worker.engine().table()));
  if (!receipt) return false;
  const bool at_once = !worker.answers().come_later();
  snapshot.gate().settle(receipt->dues(), receipt->taken(), response.response(),
                         at_once ? std::optional(worker.now()) : std::nullopt);
  return true;
}

void SpoeConnection::decide(const SpoeRequest& request, SpoeAckTerms terms) {
  WorkerContext& worker = door_.worker;
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return write_ack(terms, door_);  // too many decisions wait for the store
  WorkerContext::note(*job, request.request());
  job->snapshot->gate().admit(request.request(), worker.moment(*job), gate::DryRun::no,
                              job->decision, job->begin());
  const bool may_be_denied =
      !job->is_decided() || job->decision.verdict.outcome == gate::Outcome::denied;
  terms.wants_problem = may_be_denied && job->snapshot->policies().settings().problem_details &&
                        accepts_problem(request.headers());
  if (job->is_decided()) return write_ack(terms, *job, door_);
  waiting_.push_back({worker.lend(resume_), terms});
}

// Denies a request whose message is too long. A client makes it so, by its head, and HAProxy admits
// a request without a verdict. Of a response that is too long nothing is settled.
void SpoeConnection::refuse(const net::SpoeFrame& frame) {
  const bool is_request = SpoeNotice::begins_with_request(frame.payload);
  door_.worker.stats().unreadable(DoorKind::spoe);
  warn("has sent a message of more than " + std::to_string(net::SpoeReader::fragments_most) +
       " bytes: " + (is_request ? "the request is denied" : "nothing of the response is settled"));
  SpoeAckTerms terms = terms_of(frame);
  if (is_request) return write_denial(terms, door_);
  terms.forgets_receipt = true;
  write_ack(terms, door_);
}

SpoeAckTerms SpoeConnection::terms_of(const net::SpoeFrame& frame) const noexcept {
  SpoeAckTerms terms;
  terms.stream_id = frame.stream_id;
  terms.frame_id = frame.frame_id;
  terms.frame_max = frame_max_;
  return terms;
}

// Logs what the connection does, but not too often.
void SpoeConnection::warn(std::string_view it_does) {
  const auto now = std::chrono::steady_clock::now();
  if (now < door_.next_log) return;
  door_.next_log = now + logs_apart;
  spdlog::warn("spoe: a connection from {} {}", peer_text(fd()), it_does);
}

void SpoeConnection::fail(const net::SpoeFault& fault) {
  door_.worker.stats().unreadable(DoorKind::spoe);
  warn("is closed: " + std::string(fault.what));
  end(fault);
}

void SpoeConnection::end(const net::SpoeFault& fault) {
  net::SpoeWriter(door_.output, frame_max_)
      .disconnect({fault.status, fault.what.substr(0, words_max)});
  waiting_.clear();
  phase_ = Phase::closing;
}

// Writes the ACKs of decisions that have come.
void SpoeConnection::take_decided() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto each = next++;
    if (!each->job->is_decided()) continue;
    write_ack(each->terms, *each->job, door_);
    waiting_.erase(each);
    moved_ = true;
  }
}

bool SpoeConnection::has_decided() const noexcept {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [](const Waiting& each) { return each.job->is_decided(); });
}

// Returns what is needed after what was possible in this turn.
Need SpoeConnection::go_on() noexcept {
  if (channel_.has_unsent()) return Need::output;
  if (phase_ == Phase::closing) {
    phase_ = Phase::lingering;
    return channel_.end() ? channel_.need() : Need::nothing;
  }
  if (has_decided()) return Need::turn;
  if (is_full()) return Need::answer;
  return more_ ? Need::turn : channel_.need();
}

}  // namespace headgate::server
