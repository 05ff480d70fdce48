#include "headgate/client/allowance.h"

#include <algorithm>

namespace headgate::client {

Allowance::Allowance(std::string_view policy, std::string_view pk, std::size_t ordinal, Instant now)
    : policy_(policy), pk_(pk), ordinal_(ordinal), until_(now), pace_(now) {}

void Allowance::hear(const Told& told, const Options& options) {
  if (told.request.number < newest_) return;  // a newer answer was faster
  const field::Member& member = told.member;
  newest_ = told.request.number;
  quota_ = member.q;
  probe_ = 0;

  const std::uint64_t r = std::min(member.r.value_or(everything), options.units_max);
  const bool requests = !member.unit || *member.unit == "requests";
  const std::uint64_t covers =
      !member.r || (!requests && r > 0) ? everything : r + told.request.answered_before + 1;
  most_left_ = member.q ? std::min(*member.q, options.units_max) : std::max(most_left_, r);
  if (told.denied && r == 0 && told.request.number <= covered_) shared_ = true;
  if (requests && member.r) compare(r, covers, told);

  // Two answers that cover the same requests each name a moment when there is one more; the
  // earlier one is true, too, and was rounded up less.
  const Instant until{told.now.ns + told.t};
  if (covers != covered_ || until <= until_ || until_ <= told.now) {
    until_ = until;
    jitter_ = told.jitter;
  }
  covered_ = covers;
  pace_.set_interval(requests ? interval(r, told, options) : 0);
}

// Sees from two answers, of which one's request began after the other had come, whether others
// spend, and whether all comes back at once.
void Allowance::compare(std::uint64_t r, std::uint64_t covers, const Told& told) noexcept {
  if (told.request.answered_before < compared_.answered) return;  // both were under way at once
  if (compared_.answered != 0 && most_left_ != 0) {
    if (compared_.covers > told.traffic.begun + r) shared_ = true;
    const std::uint64_t gain = r + 1 > compared_.r ? r + 1 - compared_.r : 0;
    const Nanos window = static_cast<Nanos>(told.member.w.value_or(0)) * nanos_per_second;
    const Nanos evenly = window * static_cast<Nanos>(gain) / static_cast<Nanos>(most_left_);
    if (2 * gain >= most_left_ && evenly > 2 * (told.now.ns - compared_.at.ns)) windows_ = true;
  }
  if (r + 1 >= most_left_ || 10 * r >= 9 * most_left_) shared_ = false;
  compared_ = {told.traffic.answered, covers, r, told.now};
}

// With less left, requests go the slower the less is left. A client that is alone in a fixed window
// does not need that. Otherwise others may be there: that they spend cannot be seen where units
// come back as fast.
std::uint64_t Allowance::enough() const noexcept {
  if (shared_) return std::max(most_left_ / 5, std::min<std::uint64_t>(most_left_ / 3, 4));
  return windows_ ? 0 : most_left_ / 20;
}

// How far apart requests go. t was rounded up to whole seconds: where the policy is known, that
// is made up for as far as the policy allows.
Nanos Allowance::interval(std::uint64_t r, const Told& told,
                          const Options& options) const noexcept {
  if (r == 0) return 0;
  const field::Member& member = told.member;
  const Nanos window = static_cast<Nanos>(member.w.value_or(0)) * nanos_per_second;
  Nanos interval = member.r ? ceil_div(told.t, static_cast<Nanos>(r)) : 0;
  if (member.q && *member.q > 0 && window > 0 && window <= options.wait_max) {
    const Nanos policy = ceil_div(window, static_cast<Nanos>(*member.q));
    const Nanos at_least = member.r ? (told.t - nanos_per_second) / static_cast<Nanos>(r) : 0;
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

Next Allowance::next(Instant now, const Traffic& traffic, Mode mode,
                     std::uint64_t rest) const noexcept {
  const std::uint64_t units = left(traffic);
  if (probe_ != 0) return {Why::answer, {}};
  if (units == 0) {
    const Instant at{until_.ns + jitter_};
    return now >= at ? Next{} : Next{Why::spent, at};
  }
  const bool rest_is_covered = rest != 0 && rest <= units && counts() && !shared_;
  if (mode == Mode::greedy || rest_is_covered) return {};
  const Instant at = std::min(pace_.next(), until_);
  return now >= at ? Next{} : Next{Why::pace, at};
}

}  // namespace headgate::client
