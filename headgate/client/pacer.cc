#include "headgate/client/pacer.h"

#include <algorithm>
#include <cassert>

namespace headgate::client {
namespace {

constexpr std::string_view concurrent_requests = "concurrent-requests";
// Of a limit that tells neither t nor w.
constexpr std::uint64_t unknown_reset = 10;  // [s]
// More requests without an answer than anyone has.
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

// Whether there are no units left, and it is told when there will be more.
bool tells_wait(const field::Member& member) noexcept {
  return member.r == std::uint64_t{0} && (member.t || member.w);
}

}  // namespace

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
  if (traffic_.begun - traffic_.answered >= window_ || slots_.full(traffic_)) {
    return {Why::answer, {}};
  }
  Next next = now < blocked_.at ? blocked_ : Next{};
  for (const Allowance& allowance : allowances_) {
    next = later(next, allowance.next(now, traffic_, options_.mode, rest_));
  }
  for (const Pace* pace : {&ceiling_, &learned_.pace()}) {
    if (now < pace->next()) next = later(next, {Why::pace, pace->next()});
  }
  return next;
}

Request Pacer::begin(Instant now) noexcept {
  const Request request{++traffic_.begun, traffic_.answered};
  for (Allowance& allowance : allowances_) allowance.begin(request.number, now);
  ceiling_.begin(now);
  learned_.begin(now);
  if (rest_ > 0) --rest_;
  return request;
}

void Pacer::end(const Request& request) noexcept {
  ++traffic_.ended;
  if (request.heard) return;
  ++traffic_.answered;
  for (Allowance& allowance : allowances_) allowance.lost(request.number);
}

void Pacer::hear(Request& request, const Answer& answer, Instant now) {
  assert(!request.heard);
  request.heard = true;
  ++traffic_.answered;
  if (answer.view.retry_after) {
    block(now, believed(*answer.view.retry_after), Why::retry_after);
  }
  hear_members(request, answer, now);
  if (denies(answer.status)) {
    hear_denial(request, answer.view, now);
  } else {
    hear_admission(request, answer.view.cached);
  }
}

void Pacer::hear_members(const Request& request, const Answer& answer, Instant now) {
  const std::vector<field::Member>& members = answer.view.members;
  if (answer.view.cached) {
    for (Allowance& allowance : allowances_) allowance.lost(request.number);  // it told nothing
    return;
  }
  forget_other_partitions(answer.view);
  // No more than are kept: so that the pairs of them are few.
  const std::size_t count = std::min(members.size(), allowances_max);
  bool slots = false;
  for (std::size_t i = 0; i < count; ++i) {
    const field::Member& member = members[i];
    if (counts_slots(member)) {
      slots = true;
      if (member.r) slots_.hear(*member.r, denies(answer.status), request, traffic_);
      continue;
    }
    const auto at = members.begin() + static_cast<std::ptrdiff_t>(i);
    const auto same = [&](const field::Member& other) { return same_limit(other, member); };
    hear_member(member, static_cast<std::size_t>(std::count_if(members.begin(), at, same)), request,
                answer, now);
  }
  if (!slots) slots_.forget();
  std::erase_if(allowances_,
                [&](const Allowance& allowance) { return allowance.vanished(request); });
}

void Pacer::hear_member(const field::Member& member, std::size_t ordinal, const Request& request,
                        const Answer& answer, Instant now) {
  if (!member.r && !(member.q && member.w)) return;
  const auto found =
      std::find_if(allowances_.begin(), allowances_.end(), [&](const Allowance& allowance) {
        return allowance.is(text_of(member.policy), text_of(member.pk), ordinal);
      });
  if (found == allowances_.end() && allowances_.size() == allowances_max) return;
  Allowance& allowance =
      found != allowances_.end()
          ? *found
          : allowances_.emplace_back(text_of(member.policy), text_of(member.pk), ordinal, now);
  std::uint64_t t = member.t.value_or(member.w.value_or(unknown_reset));
  if (member.r == std::uint64_t{0} && answer.view.retry_after) t = *answer.view.retry_after;
  const Nanos wait = believed(t);
  allowance.hear({member, request, denies(answer.status), wait, jitter_.of(wait), traffic_, now},
                 options_);
}

// Of the policies that the answer names: we seem to be in the partitions that it names.
void Pacer::forget_other_partitions(const field::ResponseView& view) {
  std::erase_if(allowances_, [&](const Allowance& allowance) {
    bool other = false;
    for (const field::Member& member : view.members) {
      if (text_of(member.policy) != allowance.policy()) continue;
      if (text_of(member.pk) == allowance.pk()) return false;
      other = true;
    }
    return other;
  });
}

void Pacer::hear_denial(const Request& request, const field::ResponseView& view, Instant now) {
  const bool first = request.number > denied_at_;  // not another of those that were under way
  if (first) ++denials_;
  denied_at_ = traffic_.begun;
  window_ = 1;

  const bool told =
      view.retry_after || std::any_of(view.members.begin(), view.members.end(), tells_wait);
  const std::uint64_t doublings = std::min<std::uint64_t>(denials_ - 1, 40);
  if (!told) {
    block(now, believed(std::uint64_t{1} << doublings), Why::backoff);
  } else if (doublings > 0) {  // it said when to come back, and then denied again
    block(now, believed(std::uint64_t{1} << (doublings - 1)), Why::backoff);
  }
  if (first && std::none_of(allowances_.begin(), allowances_.end(),
                            [](const Allowance& allowance) { return allowance.counts(); })) {
    learned_.denied(now, std::max(now, blocked_.at));
  }
}

void Pacer::hear_admission(const Request& request, bool cached) noexcept {
  if (cached || request.number <= denied_at_) return;
  denials_ = 0;
  window_ = std::min(window_ + 1, window_max);
  if (std::any_of(allowances_.begin(), allowances_.end(),
                  [](const Allowance& allowance) { return allowance.counts(); })) {
    learned_.forget();
  } else {
    learned_.admitted();
  }
}

void Pacer::block(Instant now, Nanos wait, Why why) noexcept {
  const Instant until{now.ns + wait + jitter_.of(wait)};
  if (until > blocked_.at) blocked_ = {why, until};
}

Nanos Pacer::believed(std::uint64_t seconds) const noexcept {
  return std::min(static_cast<Nanos>(seconds) * nanos_per_second, options_.wait_max);
}

std::optional<Standing> Pacer::standing(Instant now) const noexcept {
  std::optional<Standing> least;
  for (const Allowance& allowance : allowances_) {
    const std::uint64_t left = allowance.left(traffic_);
    if (!allowance.counts() || allowance.until() < now || (least && least->left <= left)) continue;
    least = Standing{allowance.policy(), left, allowance.quota(), allowance.until()};
  }
  return least;
}

}  // namespace headgate::client
