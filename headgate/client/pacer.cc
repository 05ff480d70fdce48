#include "headgate/client/pacer.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <utility>

namespace headgate::client {
namespace {

constexpr std::string_view concurrent_requests = "concurrent-requests";
// The reset [s] of a limit that is sent with neither t nor w: short enough to continue soon, long
// enough that the one request after it is no load.
constexpr std::uint64_t unknown_reset = 10;
// The most requests without an answer: more than a client can have, so that it never limits, and
// far from overflow.
constexpr std::uint64_t window_max = 1 << 20;

std::string_view text_of(const std::optional<std::string>& text) noexcept {
  return text ? std::string_view(*text) : std::string_view();
}

bool same_limit(const field::Member& a, const field::Member& b) noexcept {
  return text_of(a.policy) == text_of(b.policy) && text_of(a.pk) == text_of(b.pk);
}

bool counts_slots(const field::Member& member) noexcept {
  return member.unit == concurrent_requests;
}

// Whether no units are left and the server sent when there will be more.
bool sends_wait(const field::Member& member) noexcept {
  return member.r == std::uint64_t{0} && (member.t || member.w);
}

bool counts_requests(const field::Member& member) noexcept {
  return !member.unit || *member.unit == "requests";
}

// The places of the members that are kept of an answer.
std::vector<std::size_t> members_kept(const std::vector<field::Member>& members) {
  std::vector<std::size_t> places(members.size());
  std::iota(places.begin(), places.end(), 0);
  if (places.size() <= Pacer::allowances_max) return places;
  const auto end = places.begin() + Pacer::allowances_max;
  std::nth_element(places.begin(), end, places.end(), [&](std::size_t a, std::size_t b) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    return std::pair(members[a].r.value_or(most), a) < std::pair(members[b].r.value_or(most), b);
  });
  places.erase(end, places.end());
  return places;
}

// The limit with this id, which becomes the last one.
template <class Limit>
Limit& find_or_add(std::vector<Limit>& limits, LimitId id, Instant now) {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const Limit& limit) { return limit.id() == id; });
  if (found != limits.end()) {
    std::rotate(found, found + 1, limits.end());
  } else {
    if (limits.size() == Pacer::allowances_max) limits.erase(limits.begin());
    limits.emplace_back(std::move(id), now);
  }
  return limits.back();
}

}  // namespace

bool denies(const Answer& answer) noexcept {
  if (denies(answer.status)) return true;
  if (answer.status != 403) return false;
  if (answer.view.retry_after) return true;
  const std::vector<field::Member>& members = answer.view.members;
  return !answer.view.cached &&
         std::any_of(members.begin(), members.end(), [](const field::Member& member) {
           return counts_requests(member) && sends_wait(member);
         });
}

Pacer::Pacer(const Options& options, Instant now)
    : options_(options),
      jitter_(options.seed, options.jitter_permille),
      ceiling_({now.ns - nanos_per_second}),
      learned_(now) {
  assert(options.wait_max > 0);
  ceiling_.set_interval(ceil_div<Nanos>(
      nanos_per_second, static_cast<Nanos>(std::max<std::uint64_t>(options.rate_max, 1))));
  allowances_.reserve(allowances_max);
}

Next Pacer::next(Instant now) const noexcept {
  const bool full = std::any_of(slots_.begin(), slots_.end(),
                                [&](const Slots& slots) { return slots.full(totals_); });
  if (full || totals_.begun - totals_.answered >= window_) return {Why::answer, {}};
  Next next = now < blocked_.at ? blocked_ : Next{};
  for (const Allowance& allowance : allowances_) {
    next = later(next, allowance.next(now, totals_, options_.mode, rest_));
  }
  const auto obey = [&](const Pace& pace) {
    if (now < pace.next()) next = later(next, {Why::pace, pace.next()});
  };
  obey(ceiling_);
  if (!limits_known()) obey(learned_.pace());
  return next;
}

Request Pacer::begin(Instant now) noexcept {
  const Request request{++totals_.begun, totals_.answered, limits_known()};
  for (Allowance& allowance : allowances_) allowance.begin(request.number, now);
  ceiling_.begin(now);
  learned_.begin(now);
  if (rest_ > 0) --rest_;
  return request;
}

void Pacer::end(const Request& request) noexcept {
  ++totals_.ended;
  if (request.answered) return;
  ++totals_.answered;
  for (Allowance& allowance : allowances_) allowance.lost(request.number);
}

void Pacer::receive(Request& request, const Answer& answer, Instant now) {
  assert(!request.answered);
  request.answered = true;
  ++totals_.answered;
  if (answer.view.retry_after) {
    const Nanos wait = bounded(*answer.view.retry_after);
    block(now, wait, jitter_.of(wait), Why::retry_after);
  }
  receive_members(request, answer, now);
  if (denies(answer)) {
    receive_denial(request, answer.view, now);
  } else {
    receive_admission(request, answer.view.cached);
  }
}

void Pacer::receive_members(const Request& request, const Answer& answer, Instant now) {
  const std::vector<field::Member>& members = answer.view.members;
  if (answer.view.cached) {
    for (Allowance& allowance : allowances_) allowance.lost(request.number);  // its fields are old
    return;
  }
  forget_other_partitions(answer.view);
  for (const std::size_t i : members_kept(members)) {
    const field::Member& member = members[i];
    const auto at = members.begin() + static_cast<std::ptrdiff_t>(i);
    const auto same = [&](const field::Member& other) { return same_limit(other, member); };
    receive_member(member, static_cast<std::size_t>(std::count_if(members.begin(), at, same)),
                   request, answer, now);
  }
  std::erase_if(slots_, [&](const Slots& slots) { return slots.vanished(now); });
  std::erase_if(allowances_,
                [&](const Allowance& allowance) { return allowance.vanished(request); });
}

void Pacer::receive_member(const field::Member& member, std::size_t ordinal, const Request& request,
                           const Answer& answer, Instant now) {
  LimitId id{member.policy.value_or(""), member.pk.value_or(""), ordinal};
  std::uint64_t t = member.t.value_or(member.w.value_or(unknown_reset));
  if (counts_slots(member)) {
    if (!member.r) return;
    find_or_add(slots_, std::move(id), now)
        .update(*member.r, denies(answer), request, totals_, {now.ns + bounded(t)});
    return;
  }
  if (!member.r && !(member.q && member.w)) return;
  if (member.r == std::uint64_t{0} && answer.view.retry_after) t = *answer.view.retry_after;
  const Nanos wait = bounded(t);
  find_or_add(allowances_, std::move(id), now)
      .update({member, request, denies(answer), wait, jitter_.of(wait), totals_, now}, options_);
}

// Forgets the other partitions of the policies that the answer names: this client is in those that
// the answer names.
void Pacer::forget_other_partitions(const field::ResponseView& view) {
  const auto is_other = [&](const auto& limit) {
    bool other = false;
    for (const field::Member& member : view.members) {
      if (text_of(member.policy) != limit.id().policy) continue;
      if (text_of(member.pk) == limit.id().pk) return false;
      other = true;
    }
    return other;
  };
  std::erase_if(allowances_, is_other);
  std::erase_if(slots_, is_other);
}

// Whether a limit on requests that the server has sent is in force, so that none has to be learned.
bool Pacer::limits_known() const noexcept {
  return !slots_.empty() ||
         std::any_of(allowances_.begin(), allowances_.end(),
                     [](const Allowance& allowance) { return allowance.counts(); });
}

void Pacer::receive_denial(const Request& request, const field::ResponseView& view, Instant now) {
  const bool first =
      request.number > denied_at_;  // not one that was already under way at the last denial
  if (first) ++denials_;
  denied_at_ = totals_.begun;
  window_ = 1;

  const bool wait_sent =
      view.retry_after || std::any_of(view.members.begin(), view.members.end(), sends_wait);
  // 2^40 s is beyond any wait_max, and does not overflow.
  const std::uint64_t doublings = std::min<std::uint64_t>(denials_ - 1, 40);
  if (!wait_sent) {
    back_off(now, std::uint64_t{1} << doublings);
  } else if (doublings > 0) {  // it denied again after the wait that it had sent
    back_off(now, std::uint64_t{1} << (doublings - 1));
  }
  // A limit that comes only with the denial was not in force, and is soon over.
  if (first && !request.limited) learned_.denied(now, required_wait_end(now));
}

// When the waits are over that the server requires, in whichever field, or that a back-off has set;
// at least `now`. The pace is no part of it: the client chooses it.
Instant Pacer::required_wait_end(Instant now) const noexcept {
  Instant end = std::max(now, blocked_.at);
  for (const Allowance& allowance : allowances_) {
    const Next next = allowance.next(now, totals_, options_.mode, rest_);
    if (next.why == Why::spent) end = std::max(end, next.at);
  }
  return end;
}

void Pacer::receive_admission(const Request& request, bool cached) noexcept {
  if (cached || request.number <= denied_at_) return;
  denials_ = 0;
  window_ = std::min(window_ + 1, window_max);
  learned_.admitted();
}

void Pacer::back_off(Instant now, std::uint64_t seconds) noexcept {
  const Nanos wait = std::min(bounded(seconds), options_.backoff_max);
  block(now, wait, std::min(jitter_.of(wait), options_.backoff_max - wait), Why::backoff);
}

void Pacer::block(Instant now, Nanos wait, Nanos jitter, Why why) noexcept {
  const Instant until{now.ns + wait + jitter};
  if (until > blocked_.at) blocked_ = {why, until, jitter};
}

Nanos Pacer::bounded(std::uint64_t seconds) const noexcept {
  return std::min(static_cast<Nanos>(seconds) * nanos_per_second, options_.wait_max);
}

std::optional<Standing> Pacer::standing(Instant now) const noexcept {
  std::optional<Standing> least;
  for (const Allowance& allowance : allowances_) {
    const std::uint64_t left = allowance.left(totals_);
    if (!allowance.counts() || allowance.until() < now || (least && least->left <= left)) continue;
    least = Standing{allowance.id().policy, left, allowance.quota(), allowance.until()};
  }
  return least;
}

}  // namespace headgate::client
