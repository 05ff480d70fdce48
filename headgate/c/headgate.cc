#include "headgate/headgate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headgate/base/random.h"
#include "headgate/base/writer.h"
#include "headgate/c/fork_mutex.h"
#include "headgate/gate/counters.h"
#include "headgate/gate/gate.h"
#include "headgate/gate/table_change.h"
#include "headgate/gate/table_options.h"
#include "headgate/policy/file/load.h"
#include "headgate/policy/text.h"
#include "headgate/store/table.h"

namespace {

namespace hg = headgate;

// For the fields of one response [bytes]: enough for all forms of 128 policies.
constexpr std::size_t fields_bytes_max = 64 * 1024;

// Copies a message to the caller's buffer, cut to its size.
void report(const std::string& words, char* error, std::size_t size) {
  if (error == nullptr || size == 0) return;
  const std::size_t length = std::min(words.size(), size - 1);
  std::memcpy(error, words.data(), length);
  error[length] = '\0';
}

std::string_view view(const char* text, std::size_t size) {
  return text == nullptr ? std::string_view{} : std::string_view(text, size);
}

// The caller's header look-up in the form that policies use.
class Headers final : public hg::policy::Headers {
 public:
  Headers(headgate_header look_up, void* context) : look_up_(look_up), context_(context) {}

  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    std::array<char, hg::policy::header_name_max + 1> text;  // with the zero at its end
    if (look_up_ == nullptr || name.size() >= text.size()) return std::nullopt;
    std::copy(name.begin(), name.end(), text.begin());
    text[name.size()] = '\0';
    std::size_t size = 0;
    const char* value = look_up_(context_, text.data(), nth, &size);
    if (value == nullptr) return std::nullopt;
    return std::string_view(value, size);
  }

 private:
  headgate_header look_up_;
  void* context_;
};

}  // namespace

// A gate with the policies of one load. Shared with the decisions that were made by it.
struct LoadedPolicies {
  // `before`: the load that this one replaces; nullptr: none.
  LoadedPolicies(const std::shared_ptr<const hg::policy::PolicySet>& policies,
                 hg::store::Table& table, const LoadedPolicies* before)
      : counters(counters_for(*policies, before)),
        gate(policies, table, table.secret(),
             counters ? counters->shards() : std::span<hg::gate::PolicyCounts>()) {}

  // Nobody reads the counts here, but estimates are kept beside them. Returns nullptr if no policy
  // estimates its cost.
  [[nodiscard]] static std::shared_ptr<hg::gate::Counters> counters_for(
      const hg::policy::PolicySet& policies, const LoadedPolicies* before) {
    const bool estimates = std::ranges::any_of(
        policies.policies(), [](const auto& policy) { return policy.estimate_percent != 0; });
    if (!estimates) return nullptr;
    return hg::gate::Counters::open(policies.names(), before ? before->counters : nullptr);
  }

  std::shared_ptr<hg::gate::Counters> counters;
  hg::gate::Gate gate;
};

struct headgate_gate {
  std::string config;
  std::unique_ptr<hg::store::Table> table;
  hg::ForkMutex reloads;                     // protects `table_settings`; of one reload at a time
  hg::policy::TableSettings table_settings;  // as the policies in force say
  hg::ForkMutex mutex;                       // protects `loaded`
  std::shared_ptr<const LoadedPolicies> loaded;

  [[nodiscard]] std::shared_ptr<const LoadedPolicies> current() {
    const std::lock_guard lock(mutex);
    return loaded;
  }
};

struct headgate_decision {
  std::shared_ptr<const LoadedPolicies> loaded;  // those that decided; null: none has
  hg::gate::DecisionContext context;
  hg::gate::DecisionContext settling;
  std::array<char, fields_bytes_max> field_bytes;
};

namespace {

std::string lines(const std::vector<hg::policy::Fault>& faults) {
  std::string text;
  for (const hg::policy::Fault& fault : faults) text += (text.empty() ? "" : "\n") + fault.text();
  return text;
}

// Returns the policies of a file. If it has faults, reports them and returns nullptr.
std::shared_ptr<const hg::policy::PolicySet> load(const std::string& config, char* error,
                                                  std::size_t size) {
  const hg::policy::Loaded loaded = hg::policy::load_file(config);
  if (loaded && (*loaded)->settings().redis) {
    report(config +
               ": store: redis is not available in the library, whose calls do not wait; expected "
               "store: table",
           error, size);
    return nullptr;
  }
  if (loaded) return *loaded;
  report(lines(loaded.error()), error, size);
  return nullptr;
}

// Makes the table as large as the policies say. If they want another one, or it cannot grow,
// reports why and returns false.
bool change_table(headgate_gate& gate, const hg::policy::PolicySet& policies, char* error,
                  std::size_t size) {
  const hg::policy::TableSettings& wanted = policies.settings().table;
  std::string fault = hg::gate::refuse_table(wanted, gate.table_settings, "gate",
                                             "close the gate and open it again");
  if (fault.empty()) {
    auto grown = hg::gate::grow_table(*gate.table, policies);
    if (!grown) fault = std::move(grown.error());
  }
  if (!fault.empty()) {
    report(gate.config + ": " + fault, error, size);
    return false;
  }
  gate.table_settings = wanted;
  return true;
}

headgate_outcome outcome(const headgate_decision& decision) {
  switch (decision.context.verdict.outcome) {
    case hg::gate::Outcome::off:
      return HEADGATE_OFF;
    case hg::gate::Outcome::admitted:
      return HEADGATE_ADMITTED;
    case hg::gate::Outcome::shadow_denied:
      return HEADGATE_SHADOW_DENIED;
    case hg::gate::Outcome::denied:
      break;
  }
  return HEADGATE_DENIED;
}

// Of a call that decides nothing: the decision has no response, and nothing to settle.
headgate_outcome undecided(headgate_decision& decision, headgate_outcome error) {
  decision.loaded = nullptr;
  decision.context.verdict = {};
  return error;
}

headgate_outcome outcome(const hg::gate::CheckFault& fault) {
  using Reason = hg::gate::CheckFault::Reason;
  switch (fault.reason) {
    case Reason::unknown_policy:
      return HEADGATE_UNKNOWN_POLICY;
    case Reason::asked_twice:
      return HEADGATE_ASKED_TWICE;
    case Reason::too_many:
      return HEADGATE_TOO_MANY;
    case Reason::too_long:  // not without a DueRoom
    case Reason::out_of_memory:
      break;
  }
  return HEADGATE_NO_MEMORY;
}

headgate_result result(const hg::gate::CheckResult& checked) {
  const hg::limit::Decision& decision = checked.decision;
  constexpr auto wait_max = static_cast<hg::Nanos>(std::numeric_limits<std::int64_t>::max());
  headgate_result answer{};
  answer.admitted = decision.admitted ? 1 : 0;
  answer.limited = checked.limited ? 1 : 0;
  answer.quota = checked.grant->quota.units;
  answer.remaining = decision.remaining;
  answer.reset_s = decision.reset == hg::limit::Decision::no_reset
                       ? -1
                       : static_cast<std::int64_t>(decision.reset);
  answer.wait_ns = decision.wait == hg::limit::Decision::never
                       ? -1
                       : static_cast<std::int64_t>(std::min(decision.wait, wait_max));
  return answer;
}

hg::limit::Op op_of(headgate_op op) {
  return op == HEADGATE_PEEK     ? hg::limit::Op::peek
         : op == HEADGATE_REFUND ? hg::limit::Op::refund
                                 : hg::limit::Op::spend;
}

// What decisions by name have in common. `act` takes the checks and the time, and returns the fault
// of a check.
template <class Act>
headgate_outcome decide(headgate_gate* gate, headgate_decision* decision,
                        const headgate_check* checks, size_t count, headgate_result* results,
                        Act act) {
  std::array<hg::gate::Check, hg::policy::policies_per_request_max> all;
  if (count > all.size()) return undecided(*decision, HEADGATE_TOO_MANY);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = {checks[i].policy, view(checks[i].key, checks[i].key_size), checks[i].cost};
    if (checks[i].cost == HEADGATE_RESERVE) all[i].cost.reset();
  }
  decision->loaded = gate->current();
  decision->context.waits = results != nullptr ? hg::gate::Waits::elsewhere : hg::gate::Waits::no;
  const auto fault = act(std::span(all).first(count), gate->table->now());
  if (fault) return outcome(*fault);
  for (std::size_t i = 0; i < count && results != nullptr; ++i) {
    results[i] = result(decision->context.results[i]);
  }
  return outcome(*decision);
}

}  // namespace

const char* headgate_version(void) { return HEADGATE_VERSION; }

headgate_gate* headgate_open(const char* config, char* error, size_t error_size) try {
  auto policies = load(config, error, error_size);
  if (policies == nullptr) return nullptr;
  auto table = hg::store::Table::open(hg::gate::table_options(*policies));
  if (!table) {
    report(table.error(), error, error_size);
    return nullptr;
  }
  auto gate = std::make_unique<headgate_gate>();
  gate->config = config;
  gate->table = std::move(*table);
  gate->table_settings = policies->settings().table;
  gate->loaded = std::make_shared<const LoadedPolicies>(policies, *gate->table, nullptr);
  return gate.release();
} catch (const std::bad_alloc&) {
  report("out of memory", error, error_size);
  return nullptr;
}

int headgate_reload(headgate_gate* gate, char* error, size_t error_size) try {
  const std::lock_guard alone(gate->reloads);
  auto policies = load(gate->config, error, error_size);
  if (policies == nullptr) return -1;
  auto loaded =
      std::make_shared<const LoadedPolicies>(policies, *gate->table, gate->current().get());
  if (!change_table(*gate, *policies, error, error_size)) return -1;
  const std::lock_guard lock(gate->mutex);
  gate->loaded = std::move(loaded);
  return 0;
} catch (const std::bad_alloc&) {
  report("out of memory", error, error_size);
  return -1;
}

void headgate_close(headgate_gate* gate) { delete gate; }

headgate_decision* headgate_decision_new(void) try {
  return std::make_unique<headgate_decision>().release();
} catch (const std::bad_alloc&) {
  return nullptr;
}

void headgate_decision_free(headgate_decision* decision) { delete decision; }

headgate_outcome headgate_decide(headgate_gate* gate, headgate_decision* decision,
                                 const headgate_check* checks, size_t count, headgate_op op,
                                 headgate_result* results) {
  return decide(gate, decision, checks, count, results, [&](auto all, hg::Instant now) {
    return decision->loaded->gate.decide(all, op_of(op), now, decision->context);
  });
}

headgate_outcome headgate_reserve(headgate_gate* gate, headgate_decision* decision,
                                  const headgate_check* checks, size_t count,
                                  headgate_result* results) {
  return decide(gate, decision, checks, count, results, [&](auto all, hg::Instant now) {
    return decision->loaded->gate.reserve(all, now, decision->context);
  });
}

int headgate_settle_reserved(headgate_gate* gate, headgate_decision* decision,
                             const headgate_cost* costs, size_t count) {
  if (decision->loaded == nullptr) return 0;
  const auto dues = std::exchange(decision->context.verdict.dues, {});
  if (dues.empty()) return 0;
  const auto unchanged = [&](int error) {
    decision->context.verdict.dues = dues;
    return error;
  };
  std::array<std::optional<std::uint64_t>, hg::policy::policies_per_request_max> needed;
  for (const headgate_cost& cost : std::span(costs, count)) {
    // One that took nothing is off, unlimited, or in shadow mode: the caller does not know that.
    if (decision->loaded->gate.policies().find(cost.policy) == nullptr) {
      return unchanged(HEADGATE_UNKNOWN_POLICY);
    }
    for (std::size_t i = 0; i < dues.size(); ++i) {
      // A policy's candidate has a due of its own, and that name is for both.
      const hg::policy::Policy& policy = *dues[i].policy;
      if (policy.name != cost.policy && policy.title() != cost.policy) continue;
      needed[i] = cost.cost;
    }
  }
  const hg::gate::Reservation reservation{{}, decision->context.now, dues};
  const auto in_force = gate->current();
  if (!decision->loaded->gate.settle(reservation, needed, gate->table->now(), decision->settling,
                                     {}, false, &in_force->gate)) {
    return unchanged(HEADGATE_NO_MEMORY);
  }
  return decision->settling.settled == hg::gate::Settled::yes ? 1 : 0;
}

headgate_outcome headgate_admit(headgate_gate* gate, headgate_decision* decision,
                                const headgate_request* request) {
  const Headers headers(request->header, request->context);
  hg::policy::Request matched;
  matched.method = view(request->method, request->method_size);
  matched.host = view(request->host, request->host_size);
  matched.path = view(request->path, request->path_size);
  matched.query = view(request->query, request->query_size);
  matched.headers = &headers;
  if (request->body_bytes >= 0) {
    matched.body_bytes = static_cast<std::uint64_t>(request->body_bytes);
  }
  if (request->peer != nullptr) {
    matched.peer = hg::policy::Address::parse(request->peer);
    if (!matched.peer) return undecided(*decision, HEADGATE_BAD_ADDRESS);
  }
  decision->loaded = gate->current();
  // The caller is not told how long to let it wait.
  decision->context.waits = hg::gate::Waits::no;
  decision->loaded->gate.admit(matched, std::nullopt, hg::gate::DryRun::no, decision->context);
  return outcome(*decision);
}

void headgate_settle(headgate_gate* gate, headgate_decision* decision, unsigned status,
                     uint64_t body_bytes, headgate_header header, void* context) {
  if (decision->loaded == nullptr) return;
  const Headers headers(header, context);
  const auto in_force = gate->current();
  decision->loaded->gate.settle(decision->context.verdict.dues, decision->context.now,
                                {status, body_bytes, header == nullptr ? nullptr : &headers},
                                gate->table->now(), &in_force->gate);
  decision->context.verdict.dues = {};
}

void headgate_fields(const headgate_decision* decision, headgate_add add, void* context) {
  if (decision->loaded == nullptr) return;
  const hg::gate::Verdict& verdict = decision->context.verdict;
  // Scratch memory of this function alone: writing to it changes nothing that a caller can see.
  hg::Writer out(const_cast<headgate_decision*>(decision)->field_bytes);
  for (const hg::gate::Line& line :
       decision->loaded->gate.field_writer().write(verdict.items, out)) {
    add(context, line.name.data(), line.name.size(), line.value.data(), line.value.size());
  }
  if (verdict.outcome != hg::gate::Outcome::denied || !verdict.retry_after) return;
  constexpr std::string_view name = "Retry-After";
  std::array<char, 24> digits;
  const char* end =
      std::to_chars(digits.data(), digits.data() + digits.size(), *verdict.retry_after).ptr;
  add(context, name.data(), name.size(), digits.data(),
      static_cast<std::size_t>(end - digits.data()));
}

unsigned headgate_status(const headgate_decision* decision) {
  return decision->context.verdict.status();
}

int64_t headgate_retry_after(const headgate_decision* decision) {
  const auto& wait = decision->context.verdict.retry_after;
  return wait ? static_cast<std::int64_t>(*wait) : -1;
}

size_t headgate_problem(const headgate_decision* decision, char* text, size_t size) {
  if (decision->loaded == nullptr) return 0;
  const hg::gate::Gate& gate = decision->loaded->gate;
  if (!gate.policies().settings().problem_details ||
      decision->context.verdict.outcome != hg::gate::Outcome::denied) {
    return 0;
  }
  hg::Writer out({text, size});
  return gate.field_writer().write_problem(decision->context.verdict, out) ? out.text().size() : 0;
}
