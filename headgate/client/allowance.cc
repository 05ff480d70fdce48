#include "headgate/client/allowance.h"

#include <algorithm>

namespace headgate::client {

void Allowance::update(const Received& received, const Options& options) {
  if (received.request.number < newest_) return;  // the answer to a newer request came first
  const field::Member& member = received.member;
  newest_ = received.request.number;
  quota_ = member.q;
  probe_ = 0;

  const std::uint64_t r = std::min(member.r.value_or(everything), options.units_max);
  const bool requests = !member.unit || *member.unit == "requests";
  const std::uint64_t covers =
      !member.r || (!requests && r > 0) ? everything : r + received.request.answered_before + 1;
  most_left_ = member.q ? std::min(*member.q, options.units_max) : std::max(most_left_, r);
  if (received.denied && r == 0 && received.request.number <= covered_) shared_ = true;
  if (requests && member.r) compare(r, covers, received);

  // Same coverage: keep the earlier reset. Both are true, and the earlier one was rounded up less.
  const Instant until{received.now.ns + received.t};
  if (covers != covered_ || until <= until_ || until_ <= received.now) {
    until_ = until;
    jitter_ = received.jitter;
  }
  covered_ = covers;
  pace_.set_interval(requests ? interval(r, received, options) : 0);
}

// Compares two answers, of which one's request began after the other had come, to detect whether
// other clients spend (shared_) and whether units come back all at once (windows_).
void Allowance::compare(std::uint64_t r, std::uint64_t covers, const Received& received) noexcept {
  if (received.request.answered_before < compared_.answered) return;  // both were under way at once
  if (compared_.answered != 0 && most_left_ != 0) {
    if (compared_.covers > received.totals.begun + r) shared_ = true;
    const std::uint64_t gain = r + 1 > compared_.r ? r + 1 - compared_.r : 0;
    const Nanos window = static_cast<Nanos>(received.member.w.value_or(0)) * nanos_per_second;
    const Nanos evenly = window * static_cast<Nanos>(gain) / static_cast<Nanos>(most_left_);
    if (2 * gain >= most_left_ && evenly > 2 * (received.now.ns - compared_.at.ns)) windows_ = true;
  }
  if (r + 1 >= most_left_ || 10 * r >= 9 * most_left_) shared_ = false;
  compared_ = {received.totals.answered, covers, r, received.now};
}

// The number of units left below which requests are sent more slowly. 0 for a client that is alone
// in a fixed window. Otherwise other clients may be there: their spending is invisible while units
// come back as fast as all clients spend. The parts (a twentieth alone; a fifth, but a third of
// small quotas, if shared) were chosen with obeying_test.cc, which prints the shares and denials.
std::uint64_t Allowance::enough() const noexcept {
  if (shared_) return std::max(most_left_ / 5, std::min<std::uint64_t>(most_left_ / 3, 4));
  return windows_ ? 0 : most_left_ / 20;
}

// The time between requests. t was rounded up to whole seconds: if the policy's quota and window
// are known, up to one second less is assumed, but never a rate above the policy's.
Nanos Allowance::interval(std::uint64_t r, const Received& received,
                          const Options& options) const noexcept {
  if (r == 0) return 0;
  const field::Member& member = received.member;
  const Nanos window = static_cast<Nanos>(member.w.value_or(0)) * nanos_per_second;
  Nanos interval = member.r ? ceil_div(received.t, static_cast<Nanos>(r)) : 0;
  if (member.q && *member.q > 0 && window > 0 && window <= options.wait_max) {
    const Nanos policy = ceil_div(window, static_cast<Nanos>(*member.q));
    const Nanos at_least = member.r ? (received.t - nanos_per_second) / static_cast<Nanos>(r) : 0;
    interval = std::max(policy, at_least);
  }
  const std::uint64_t enough = this->enough();
  if (r < enough) interval = interval * static_cast<Nanos>(enough) / static_cast<Nanos>(r);
  return std::min(interval, options.wait_max);
}

void Allowance::begin(std::uint64_t number, Instant now) noexcept {
  if (now >= until_ && probe_ == 0) probe_ = number;
  pace_.begin(now);
}

void Allowance::lost(std::uint64_t number) noexcept {
  if (number == probe_) probe_ = 0;
}

Next Allowance::next(Instant now, const RequestTotals& totals, Mode mode,
                     std::uint64_t rest) const noexcept {
  const std::uint64_t units = left(totals);
  if (probe_ != 0) return {Why::answer, {}};
  if (units == 0) {
    const Instant at{until_.ns + jitter_};
    return now >= at ? Next{} : Next{Why::spent, at, jitter_};
  }
  const bool rest_is_covered = rest != 0 && rest <= units && counts() && !shared_;
  if (mode == Mode::greedy || rest_is_covered) return {};
  const Instant at = std::min(pace_.next(), until_);
  return now >= at ? Next{} : Next{Why::pace, at};
}

}  // namespace headgate::client
