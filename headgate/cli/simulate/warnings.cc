#include "headgate/cli/simulate/warnings.h"

#include <algorithm>

#include "headgate/cli/errors.h"

namespace headgate::cli {
namespace {

void warn(const std::string& what) { print_warning("headgate: warning: " + what); }

}  // namespace

void warn_of_unkept(std::uint64_t decisions, const SimulateOptions& options) {
  if (decisions == 0) return;
  warn(std::to_string(decisions) +
       " decisions were on keys that found no room and share what is counted, so some are too "
       "strict; give more than --memory " +
       options.memory_text);
}

void warn_of_redis(const policy::PolicySet& policies) {
  if (!policies.settings().redis) return;
  warn("store: redis is not used: the table decides, as if all requests came to one machine");
}

void warn_of_missing(const sim::Traffic& traffic, const policy::PolicySet& policies) {
  if (traffic.requests() == 0) return;
  for (const std::string& what : traffic.missing_fields()) {
    warn(
        "no line tells " + what +
        ", at which policies look: it counts as absent, and clients that differ only by it as one");
  }
  if (policies.needs_body_bytes() && !traffic.has_request_bytes()) {
    warn("no line tells how long a request's body was: each costs 1");
  }
  const auto all = policies.policies();
  const bool counts_slots = std::any_of(all.begin(), all.end(), [](const policy::Policy& policy) {
    return policy.mode != policy::Mode::off &&
           policy.terms.algorithm == limit::Algorithm::concurrency;
  });
  if (counts_slots && !traffic.has_durations()) {
    warn(
        "no line tells how long a request took (--field duration=NAME, of JSON), so none is in "
        "flight beside another");
  }
}

}  // namespace headgate::cli
