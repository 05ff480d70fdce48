#include "headgate/server/spoe/ack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headgate/base/ascii.h"
#include "headgate/net/spoe_writer.h"
#include "headgate/server/receipt.h"

namespace headgate::server {
namespace {

constexpr std::string_view verdict_name = "verdict";
constexpr std::string_view status_name = "status";
constexpr std::string_view receipt_name = "receipt";

net::SpoeWriter begin(const SpoeAckTerms& terms, SpoeDoorContext& door) {
  net::SpoeWriter out(door.output, terms.frame_max);
  out.begin_ack(terms.stream_id, terms.frame_id);
  if (terms.forgets_receipt) out.unset_variable(receipt_name);
  return out;
}

// Sets the variable with the receipt, if there is something to settle. A client that sends a long
// path could make it too long for the frame, and then would not be charged what depends on the
// response. So dues with the longest keys are left out, which are those of that path.
void set_receipt(const SpoeAckTerms& terms, const DecisionJob& job, SpoeDoorContext& door,
                 net::SpoeWriter& out) {
  const TableTime time = time_of(door.worker.engine().table());
  const auto fits = [&](std::span<const gate::Due> dues) {
    door.text.clear();
    append_receipt(dues, job.decision.now, time, door.text);
    return out.set_variable(receipt_name, {net::SpoeType::binary, 0, door.text});
  };
  const std::span<const gate::Due> all = job.decision.verdict.dues;
  if (all.empty() || fits(all)) return;
  std::vector<gate::Due> dues(all.begin(), all.end());
  std::ranges::stable_sort(dues, {}, [](const gate::Due& due) { return due.key.size(); });
  std::size_t keys = 0;
  for (const gate::Due& due : dues) keys += due.key.size();
  do {
    keys -= dues.back().key.size();
    dues.pop_back();
  } while (!dues.empty() && (keys > terms.frame_max || !fits(dues)));
}

// The name of the variable that has a field: "ratelimit_policy" has RateLimit-Policy.
std::string_view variable_of(std::string_view field, std::string& text) {
  text.assign(field);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c == '-' ? '_' : lower(c); });
  return text;
}

}  // namespace

void write_ack(const SpoeAckTerms& terms, SpoeDoorContext& door) {
  net::SpoeWriter out = begin(terms, door);
  // The first releases of HAProxy 3.1 wait for an action.
  if (!terms.forgets_receipt) out.unset_variable(verdict_name);
  out.end_ack();
}

void write_denial(const SpoeAckTerms& terms, SpoeDoorContext& door) {
  constexpr std::uint64_t header_fields_too_large = 431;
  gate::Verdict denied;
  denied.outcome = gate::Outcome::denied;
  net::SpoeWriter out = begin(terms, door);
  out.set_variable(verdict_name, denied.word());
  out.set_variable(status_name, header_fields_too_large);
  out.end_ack();
}

void write_ack(const SpoeAckTerms& terms, const DecisionJob& job, SpoeDoorContext& door) {
  const gate::Verdict& verdict = job.decision.verdict;
  const bool denied = verdict.outcome == gate::Outcome::denied;
  net::SpoeWriter out = begin(terms, door);
  out.set_variable(verdict_name, verdict.word());
  if (denied) out.set_variable(status_name, std::uint64_t{verdict.status()});
  if (verdict.retry_after) out.set_variable("retry_after", *verdict.retry_after);
  if (verdict.denier != nullptr) out.set_variable("policy", verdict.denier->title());
  set_receipt(terms, job, door, out);
  Writer fields(door.fields);
  for (const gate::Line& line : door.worker.write_fields(job, fields)) {
    const bool fits = out.set_variable(variable_of(line.name, door.text), line.value);
    if (!fits) door.worker.stats().left_out(1);
  }
  Writer problem(door.fields);  // the frame has copies of the fields that were written there
  if (denied && terms.wants_problem &&
      job.snapshot->gate().field_writer().write_problem(verdict, problem)) {
    out.set_variable("problem", problem.text());
  }
  out.end_ack();
  door.worker.record(DoorKind::spoe, job);
}

}  // namespace headgate::server
