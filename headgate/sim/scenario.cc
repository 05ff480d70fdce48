#include "headgate/sim/scenario.h"

#include <utility>

#include "headgate/gate/table_options.h"

namespace headgate::sim {
namespace {

// Header fields of a response that ends later.
class StoredHeaders final : public policy::Headers {
 public:
  explicit StoredHeaders(const std::vector<std::pair<std::string, std::string>>& lines)
      : lines_(lines) {}
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    if (nth > 0) return std::nullopt;
    for (const auto& [key, value] : lines_) {
      if (key == name) return value;
    }
    return std::nullopt;
  }

 private:
  const std::vector<std::pair<std::string, std::string>>& lines_;
};

}  // namespace

Result<std::unique_ptr<Scenario>, std::string> Scenario::open(
    std::shared_ptr<const policy::PolicySet> policies, std::size_t memory, Watch watch) {
  store::TableOptions options = gate::table_options(*policies);
  options.memory = memory;
  options.file.clear();
  options.sharing = store::Sharing::threads;
  options.clock = &store::ClockSource::still();  // the log brings its own time
  auto table = store::Table::open(options);
  if (!table) return Failure<std::string>(table.error());
  return std::unique_ptr<Scenario>(new Scenario(std::move(policies), std::move(*table), watch));
}

Scenario::Scenario(std::shared_ptr<const policy::PolicySet> policies,
                   std::unique_ptr<store::Table> table, Watch watch)
    : table_(std::move(table)),
      gate_(std::move(policies), *table_, table_->secret(), {}),
      summary_(gate_.policies().policies(), Order::time, watch) {
  context_.waits = gate::Waits::elsewhere;
}

std::uint64_t Scenario::unkept() const noexcept { return table_->stats().unkept; }

const gate::DecisionContext& Scenario::play(const LoggedRequest& record, Instant now) {
  settle_until(now);
  gate_.admit(record.request(), now, gate::DryRun::no, context_);
  count(record, now);
  if (context_.verdict.dues.empty()) return context_;
  if (record.took() > 0) {
    postpone(record, now);
  } else {
    gate_.settle(context_.verdict.dues, now, record.response(), now);
  }
  return context_;
}

void Scenario::count(const LoggedRequest& record, Instant now) {
  summary_.saw(now);
  summary_.count_request(!denied());
  const policy::Refusal refusal = context_.verdict.refusal;
  if (refusal != policy::Refusal::none) summary_.note_refusal(refusal);
  each_answer([&](const policy::Match& match, const limit::Decision& decision, bool taken) {
    std::uint64_t units = match.cost;
    if (match.policy->cost_time != policy::CostTime::request) {
      const policy::Cost cost = policies().late_cost(*match.policy, record.response());
      if (match.policy->is_late() || !cost.defaulted) units = cost.units;
    }
    summary_.count(*match.policy, *match.grant, match.partition, units, now, taken,
                   decision.remaining, decision.wait);
  });
  for (std::size_t i = 0; i < context_.decided(); ++i) {
    const gate::PolicyDecision one = context_.decision(i);
    if (one.decision.admitted && !one.taken) summary_.note_denied_by_others(*one.match.policy);
  }
}

Answers Scenario::answers() const {
  Answers answers;
  if (context_.verdict.refusal != policy::Refusal::none) {
    answers.verdict.admitted = false;
    answers.verdict.wait.reset();
  }
  for (std::size_t i = 0; i < context_.decided(); ++i) {
    const gate::PolicyDecision one = context_.decision(i);
    const Answer& answer = answers.results.emplace_back(answer_of(one.decision));
    if (one.enforced && stricter(answer, answers.verdict)) answers.verdict = answer;
  }
  return answers;
}

void Scenario::settle_until(Instant now) {
  while (!pending_.empty() && pending_.top().ends <= now) {
    const Pending& ended = pending_.top();
    const StoredHeaders headers(ended.headers);
    gate_.settle(ended.dues, ended.began, {ended.status, ended.bytes, &headers}, ended.ends);
    pending_.pop();
  }
}

void Scenario::postpone(const LoggedRequest& record, Instant began) {
  const policy::Response& response = record.response();
  Pending pending{
      {began.ns + record.took()}, began, response.status, response.body_bytes, {}, {}, {}};
  for (const gate::Due& due : context_.verdict.dues) {
    pending.dues.push_back(due);
    pending.keys.emplace_back(due.key);
  }
  for (std::size_t i = 0; i < pending.dues.size(); ++i) pending.dues[i].key = pending.keys[i];
  for (const WantedHeader& header : record.layout().headers) {
    if (!header.of_response) continue;
    if (const auto value = response.headers->line(header.name, 0)) {
      pending.headers.emplace_back(header.name, *value);
    }
  }
  pending_.push(std::move(pending));
}

}  // namespace headgate::sim
