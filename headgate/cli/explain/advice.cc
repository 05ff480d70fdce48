#include "headgate/cli/explain/advice.h"

#include <cstdint>

#include "headgate/base/int128.h"
#include "headgate/cli/explain/member_words.h"
#include "headgate/cli/printable.h"
#include "headgate/field/closest.h"
#include "headgate/field/ratelimit.h"

namespace headgate::cli {
namespace {

using field::Member;

// Whether the member limits requests: not bytes, tokens or what runs at the same time.
bool counts_requests(const Member& member) {
  return !member.unit || *member.unit == field::default_unit;
}

// `seconds`: those of Retry-After. `exhausted`: the member with nothing left, or nullptr.
std::string retry_after(std::uint64_t seconds, const Member* exhausted) {
  std::string out = seconds == 0 ? "No need to wait: Retry-After says so"
                                 : "Wait " + seconds_in_words(seconds) + ": Retry-After says so";
  if (exhausted != nullptr && exhausted->t && *exhausted->t != seconds) {
    out += ", and it wins over " + name_in_words(*exhausted) + ", which says " +
           seconds_in_words(*exhausted->t);
  }
  return out + ".\n";
}

std::string wait_for(const Member& exhausted) {
  if (!exhausted.t) {
    return "Wait, but nothing says how long: " + name_in_words(exhausted) +
           " has nothing left. Then send one request and look at its answer.\n";
  }
  if (*exhausted.t == 0) {
    return "No need to wait: " + name_in_words(exhausted) +
           " has nothing left, but its time is over. Send one request and look at its answer.\n";
  }
  return "Wait " + seconds_in_words(*exhausted.t) + ": " + name_in_words(exhausted) +
         " has nothing left until then. Then send one request and look at its answer.\n";
}

// t/r in seconds, rounded up to milliseconds.
std::string pace(const Member& member) {
  const auto ms = static_cast<std::uint64_t>(ceil_div<i128>(i128{*member.t} * 1000, *member.r));
  std::string out = std::to_string(ms / 1000);
  if (ms % 1000 == 0) return out + " s";
  std::string thousandths = std::to_string(1000 + ms % 1000);
  thousandths[0] = '.';
  while (thousandths.ends_with('0')) thousandths.pop_back();
  return out + thousandths + " s";
}

std::string send(const Member& closest) {
  std::string out = "No need to wait: at most " + amount_in_words(*closest.r, field::default_unit);
  if (closest.t) out += " in the next " + seconds_in_words(*closest.t);
  if (closest.policy) out += ", says " + name_in_words(closest);
  // An interval below 0.1 s needs no pacing, so the text leaves it out.
  const bool slow = closest.t && *closest.r > 1 && i128{*closest.t} * 10 >= *closest.r;
  if (slow) out += "; spread evenly, one every " + pace(closest);
  return out + ".\n";
}

}  // namespace

std::string advice(const field::ResponseView& view, int status, bool faults) {
  std::string out;
  const bool denied = status == 429 || status == 503;
  const Member* exhausted = nullptr;  // the one to wait for longest
  const Member* closest = nullptr;
  for (const Member& member : view.members) {
    if (!member.r || !(denied || counts_requests(member))) continue;
    if (*member.r == 0 && (exhausted == nullptr || member.t > exhausted->t)) exhausted = &member;
    if (closest == nullptr || field::closer(*member.r, member.t, *closest->r, closest->t)) {
      closest = &member;
    }
  }
  if (view.retry_after) {
    out += retry_after(*view.retry_after, exhausted);
  } else if (exhausted != nullptr) {
    out += wait_for(*exhausted);
  } else if (denied) {
    out += "Wait, but nothing says how long: this is a " + std::to_string(status) +
           " without Retry-After, and no limit is used up.\n";
  } else if (view.cached) {
    out += "Nothing is known of the next request: this response comes from a cache.\n";
  } else if (closest != nullptr) {
    out += send(*closest);
  } else if (view.members.empty()) {
    out += faults ? "No field that could be read tells of rate limits.\n"
                  : "No field tells of rate limits.\n";
  } else {
    out += "No need to wait: no field tells that requests are used up.\n";
  }
  for (const Member& member : view.members) {
    if (&member == exhausted || member.r != std::uint64_t{0} || counts_requests(member)) continue;
    out += "What is counted in " + printable(*member.unit) +
           " has to wait: " + member_in_words(member) + ".\n";
  }
  return out;
}

}  // namespace headgate::cli
