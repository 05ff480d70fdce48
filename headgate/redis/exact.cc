#include "headgate/redis/exact.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "headgate/net/resp_writer.h"
#include "headgate/redis/all_or_none.h"
#include "headgate/redis/module_call.h"
#include "headgate/redis/script_call.h"
#include "headgate/redis/time_to_live.h"

namespace headgate::redis {
namespace {

using Way = Part::Way;

// The most charges that are decided together: they need some 100 us, in which no reply is read.
constexpr std::size_t together_max = 1024;
// The most keys that are swapped together, for the same reason as gathered_max.
constexpr std::size_t swapped_max = 32;
// The most charges in a call of the script. It takes Redis some 4 us for each, in which nobody else
// is answered, and saves 5 us for each but the first.
constexpr std::size_t gathered_max = 32;

bool denied_here(const Part& part) {
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    if (part.ways[i] != Way::here) continue;
    KeyState state(*part.charges[i].law, {});
    if (!state.apply(part.charges[i], Instant{}).admitted) return true;
  }
  return false;
}

// The swapped keys of parts that are decided together, each once.
class SwappedKeys {
 public:
  // Whether there is room for those of the part.
  [[nodiscard]] bool fit(const Part& part) const {
    return charges_ + part.charges.size() <= together_max &&
           keys_.size() + part.count(Way::swapped) <= swapped_max;
  }
  void add(const Part& part) {
    charges_ += part.charges.size();
    for (std::size_t i = 0; i < part.keys.size(); ++i) {
      if (part.ways[i] == Way::swapped &&
          place_of_.try_emplace(part.keys[i], keys_.size()).second) {
        keys_.push_back(part.keys[i]);
      }
    }
  }
  [[nodiscard]] const std::vector<std::string>& keys() const noexcept { return keys_; }
  [[nodiscard]] std::size_t place_of(std::string_view key) const {
    return place_of_.find(key)->second;
  }

 private:
  std::size_t charges_ = 0;
  std::vector<std::string> keys_;
  TextMap<std::size_t> place_of_;
};

// Whether Redis' module has no name for the law of a charge: those with a calendar or a delay.
bool has_unnamed_law(const Part& part) {
  return std::any_of(part.charges.begin(), part.charges.end(), [](const store::Charge& charge) {
    const limit::Terms terms = limit::parameters_of(*charge.law).terms;
    return terms.calendar != nullptr || terms.delay > 0;
  });
}

// The states of all charges. `scripted` and `swapped`: what Redis has, in the order of the charges.
std::vector<KeyState> states_of(const Part& part, std::span<const std::string_view> scripted,
                                const std::vector<std::string>& swapped) {
  std::vector<KeyState> states;
  states.reserve(part.charges.size());
  auto next_scripted = scripted.begin();
  auto next_swapped = swapped.begin();
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    std::string_view bytes;
    if (part.ways[i] == Way::scripted && next_scripted != scripted.end()) bytes = *next_scripted++;
    if (part.ways[i] == Way::swapped && next_swapped != swapped.end()) bytes = *next_swapped++;
    states.emplace_back(*part.charges[i].law, bytes);
  }
  return states;
}

const std::string unexpected = "Redis sent a reply of an unexpected form";

}  // namespace

void Exact::decide(std::shared_ptr<Part> part) {
  if (part->count(Way::here) == part->charges.size()) {
    std::vector<KeyState> states = states_of(*part, {}, {});
    part->decide(states, part->given.value_or(clock_.now()));
    return part->end(part->outcome);
  }
  // A charge without a state that denies is no part of the call, nor is a time that the caller
  // gives.
  const bool fits = !part->given && !denied_here(*part) && !has_unnamed_law(*part);
  if (fits && router_.has_module(part->slot)) return decide_in_module(std::move(part));
  decide_by_scripts(std::move(part));
}

void Exact::decide_by_scripts(std::shared_ptr<Part> part) {
  const auto swapped = std::find(part->ways.begin(), part->ways.end(), Way::swapped);
  if (swapped == part->ways.end()) return decide_scripted(std::move(part));
  // It does not wait behind a patient part of the same key.
  if (!part->patient && router_.is_stalled(part->slot)) {
    fault_.note("Redis does not answer in time");
    return part->end(Part::Outcome::undecided);
  }
  const std::string key = part->keys[static_cast<std::size_t>(swapped - part->ways.begin())];
  const auto [queue, is_first] = queues_.try_emplace(key);
  queue->second.push_back(std::move(part));
  if (is_first) next(key);
}

// ---- too late

namespace {

// The release of what was taken too late; waits for itself.
struct Release final : Part::Owner {
  explicit Release(const Part& late) : slots(late.slots) {
    part.slot = late.slot;
    part.given = late.given;
    part.patient = true;
    for (const Part::Slots& taken : slots) {
      store::Charge charge{&taken.law, {}, late.charges[taken.charge].cost, limit::Op::refund};
      charge.since = late.now;
      part.add(charge, late.keys[taken.charge]);
    }
  }
  [[nodiscard]] bool is_awaiting() const noexcept override { return true; }
  void ended(const Part&) override {}

  const std::vector<Part::Slots> slots;
  Part part{*this, 0, std::pmr::new_delete_resource()};
};

}  // namespace

void Exact::release(const Part& late) {
  if (late.outcome != Part::Outcome::admitted || late.slots.empty()) return;
  const auto made = std::make_shared<Release>(late);
  decide(std::shared_ptr<Part>(made, &made->part));
}

// ---- in the module

class Exact::ModuleCall : public Call {
 public:
  ModuleCall(Exact& exact, std::shared_ptr<Part> part) : exact_(exact), part_(std::move(part)) {}

  void answer(std::size_t, const net::RespReply& reply) override {
    if (!read_module_reply(reply, *part_)) return fail(unexpected);
    exact_.clock_.note(part_->now);
    if (!part_->is_awaited()) exact_.release(*part_);
    part_->end(part_->outcome);
  }
  // The module was unloaded, or the slot has moved to a server without it.
  void fail(const std::string& why) override {
    if (!lacks_module(why) || !part_->is_awaited()) {
      exact_.fault_.note(why);
      return part_->end(Part::Outcome::undecided);
    }
    exact_.router_.forget_module(part_->slot);
    exact_.decide_by_scripts(part_);
    exact_.flush();
  }

 private:
  Exact& exact_;
  const std::shared_ptr<Part> part_;
};

void Exact::decide_in_module(std::shared_ptr<Part> part) {
  std::string command = module_command(*part);
  const std::uint16_t slot = part->slot;
  const bool patient = part->patient;
  auto call = std::make_shared<ModuleCall>(*this, std::move(part));
  call->slot = slot;
  call->patient = patient;
  call->bytes = std::move(command);
  router_.send(std::move(call));
}

// ---- in the script

class Exact::ScriptedCall : public Call {
 public:
  ScriptedCall(Exact& exact, std::vector<std::shared_ptr<Part>> parts)
      : exact_(exact), parts_(std::move(parts)) {}

  void answer(std::size_t, const net::RespReply& reply) override {
    const auto read = ScriptReply::parse(reply);
    const std::optional<Instant>& given = parts_[0]->given;
    const std::optional<Instant> now = given ? given : read ? read->now : std::nullopt;
    if (!read || !now) return fail(unexpected);
    if (read->now) exact_.clock_.note(*read->now);
    std::span<const std::string_view> values = read->values;
    for (const std::shared_ptr<Part>& part : parts_) {
      const std::size_t mine = std::min(part->count(Way::scripted), values.size());
      if (part->is_awaited()) {
        std::vector<KeyState> states = states_of(*part, values.first(mine), {});
        part->decide(states, *now);
      }
      values = values.subspan(mine);
      part->end(part->outcome);
    }
  }
  void fail(const std::string& why) override {
    exact_.fault_.note(why);
    for (const std::shared_ptr<Part>& part : parts_) part->end(Part::Outcome::undecided);
  }

 private:
  Exact& exact_;
  const std::vector<std::shared_ptr<Part>> parts_;
};

// In a cluster, bundles are seldom in the same slot; and one whose slot moves must not delay
// others.
void Exact::decide_scripted(std::shared_ptr<Part> part) {
  const bool denied = denied_here(*part);
  if (options_.cluster || denied) return send_scripted({std::move(part)}, denied);
  const std::size_t charges = part->count(Way::scripted);
  const bool fits =
      gathered_.empty() ||
      (gathered_charges_ + charges <= gathered_max && gathered_[0]->given == part->given &&
       (gathered_[0]->patient == part->patient || !router_.is_stalled(part->slot)));
  if (!fits) flush();
  gathered_.push_back(std::move(part));
  gathered_charges_ += charges;
}

void Exact::flush() {
  if (gathered_.empty()) return;
  gathered_charges_ = 0;
  send_scripted(std::exchange(gathered_, {}), false);
}

void Exact::send_scripted(std::vector<std::shared_ptr<Part>> parts, bool denied) {
  ScriptArguments arguments = script_arguments(parts, parts[0]->given, options_.clock, denied, {});
  const std::uint16_t slot = parts[0]->slot;
  const bool patient = is_patient(parts);
  auto call = std::make_shared<ScriptedCall>(*this, std::move(parts));
  call->slot = slot;
  call->patient = patient;
  call->bytes = std::move(arguments.bytes);
  call->count = arguments.count;
  router_.send(std::move(call));
}

// ---- read, decided here, written

// Parts that are decided together: several without scripted charges, or one.
class Exact::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // `keys`: of the parts.
  Exchange(Exact& exact, std::string queue, std::vector<std::shared_ptr<Part>> parts,
           SwappedKeys keys)
      : exact_(exact),
        queue_(std::move(queue)),
        parts_(std::move(parts)),
        keys_(std::move(keys)),
        slot_(parts_[0]->slot) {}

  void read();
  void has_read(std::vector<std::string> values, Instant now);
  void has_written(const net::RespReply& reply);
  void fail(const std::string& why) {
    exact_.fault_.note(why);
    finish([](Part&) { return Part::Outcome::undecided; });
  }

 private:
  void attempt();
  [[nodiscard]] std::vector<Swap> decide_several();
  [[nodiscard]] std::vector<Swap> decide_one(bool& denied);
  // Decides all charges of the only part. `scripted`: the states that the script has found.
  void decide_all(Part& part, std::span<const std::string_view> scripted) const {
    std::vector<KeyState> states = states_of(part, scripted, values_);
    part.decide(states, moment(part));
  }
  void write(const std::vector<Swap>& swaps, bool denied);
  template <class OutcomeOf>
  void finish(const OutcomeOf& outcome_of);

  [[nodiscard]] Instant moment(const Part& part) const { return part.given.value_or(now_); }
  // Whether the script decides a part of it.
  [[nodiscard]] bool is_scripted() const { return parts_[0]->count(Way::scripted) > 0; }

  Exact& exact_;
  const std::string queue_;
  std::vector<std::shared_ptr<Part>> parts_;
  const SwappedKeys keys_;
  const std::uint16_t slot_;
  std::vector<std::string> values_;  // what Redis had under the keys when they were read last
  Instant now_;                      // and when that was
  bool was_overtaken_ = false;       // another process changed them before they were written
};

class Exact::ReadCall : public Call {
 public:
  explicit ReadCall(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  void answer(std::size_t i, const net::RespReply& reply) override {
    if (i == 0) {
      reply.for_each([&](const net::RespReply& value) {
        values_.emplace_back(value->is_text() ? value->text : std::string_view());
      });
      return;
    }
    const auto now = redis_time(reply);
    if (!now) return fail(unexpected);
    exchange_->has_read(std::move(values_), *now);
  }
  void fail(const std::string& why) override { exchange_->fail(why); }

 private:
  const std::shared_ptr<Exchange> exchange_;
  std::vector<std::string> values_;
};

class Exact::SwapCall : public Call {
 public:
  explicit SwapCall(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  void answer(std::size_t, const net::RespReply& reply) override { exchange_->has_written(reply); }
  void fail(const std::string& why) override { exchange_->fail(why); }

 private:
  const std::shared_ptr<Exchange> exchange_;
};

void Exact::next(const std::string& key) {
  const auto queue = queues_.find(key);
  std::deque<std::shared_ptr<Part>>& waiting = queue->second;
  std::vector<std::shared_ptr<Part>> parts;
  SwappedKeys keys;
  for (bool alone = false; !waiting.empty() && !alone; waiting.pop_front()) {
    std::shared_ptr<Part>& first = waiting.front();
    if (!first->is_awaited()) {  // its time is over: Redis is not asked for it
      first->end(Part::Outcome::undecided);
      continue;
    }
    alone = first->count(Way::scripted) > 0;
    if (!parts.empty() && (alone || !keys.fit(*first))) break;
    keys.add(*first);
    parts.push_back(std::move(first));
  }
  if (parts.empty()) {
    queues_.erase(queue);
    return;
  }
  std::make_shared<Exchange>(*this, key, std::move(parts), std::move(keys))->read();
}

// The time is read after the states, so that no state is of a later time.
void Exact::Exchange::read() {
  auto call = std::make_shared<ReadCall>(shared_from_this());
  call->slot = slot_;
  call->patient = is_patient(parts_);
  call->replies = 2;
  net::RespWriter out(call->bytes);
  out.array(1 + keys_.keys().size());
  out.bulk("MGET");
  for (const std::string& key : keys_.keys()) out.bulk(key);
  out.command({"TIME"});
  exact_.router_.send(std::move(call));
}

void Exact::Exchange::has_read(std::vector<std::string> values, Instant now) {
  if (values.size() != keys_.keys().size()) return fail(unexpected);
  values_ = std::move(values);
  now_ = now;
  exact_.clock_.note(now);
  attempt();
}

void Exact::Exchange::attempt() {
  const std::size_t ended = std::erase_if(parts_, [](const std::shared_ptr<Part>& part) {
    if (part->is_awaited()) return false;
    part->end(Part::Outcome::undecided);
    return true;
  });
  if (ended > 0 && was_overtaken_) {
    exact_.fault_.note("Redis answered in time, but each time another process had changed the key");
  }
  if (parts_.empty()) return exact_.next(queue_);
  bool denied = false;
  const std::vector<Swap> swaps = is_scripted() ? decide_one(denied) : decide_several();
  const bool writes = std::any_of(swaps.begin(), swaps.end(), [&](const Swap& swap) {
    return (denied ? swap.denied : swap.admitted).ttl > 0;
  });
  if (writes || is_scripted()) return write(swaps, denied);
  finish([](const Part& part) { return part.outcome; });
}

// Decides one part after the other, each over the states that those before it leave.
std::vector<Swap> Exact::Exchange::decide_several() {
  std::vector<Swap> swaps;
  swaps.reserve(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    swaps.push_back({keys_.keys()[i], values_[i], {values_[i], 0}, {}});
  }
  for (const std::shared_ptr<Part>& part : parts_) {
    std::vector<std::string> before;
    for (std::size_t i = 0; i < part->keys.size(); ++i) {
      if (part->ways[i] != Way::swapped) continue;
      before.push_back(swaps[keys_.place_of(part->keys[i])].admitted.bytes);
    }
    std::vector<KeyState> states = states_of(*part, {}, before);
    part->decide(states, moment(*part));
    for (std::size_t i = 0; i < part->keys.size(); ++i) {
      if (part->ways[i] != Way::swapped) continue;
      Swap::Value& after = swaps[keys_.place_of(part->keys[i])].admitted;
      std::string bytes = states[i].bytes();
      if (bytes == after.bytes) continue;
      after.bytes = std::move(bytes);
      after.ttl = time_to_live(states[i].full_at(), moment(*part), exact_.options_.clock);
    }
  }
  for (Swap& swap : swaps) {
    if (swap.admitted.bytes == swap.before) swap.admitted = {};
  }
  return swaps;
}

// What the swapped charges of the only part write, if all others are admitted and if one is denied.
std::vector<Swap> Exact::Exchange::decide_one(bool& denied) {
  const Part& part = *parts_[0];
  const Instant now = moment(part);
  std::vector<store::Charge> charges;
  std::vector<KeyState> before;
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    if (part.ways[i] != Way::swapped) continue;
    before.emplace_back(*part.charges[i].law, values_[charges.size()]);
    charges.push_back(part.charges[i]);
  }
  std::vector<limit::Decision> decisions(charges.size());
  std::vector<KeyState> admitted = before;
  denied = denied_here(part) || !decide_all_or_none(charges, admitted, now, decisions);
  std::vector<KeyState> otherwise = before;
  decide_denied<KeyState>(charges, otherwise, now, decisions);

  const auto value = [&](const KeyState& state, const std::string& bytes) {
    Swap::Value changed{state.bytes(), 0};
    if (changed.bytes == bytes) return Swap::Value{};
    changed.ttl = time_to_live(state.full_at(), now, exact_.options_.clock);
    return changed;
  };
  std::vector<Swap> swaps;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    swaps.push_back({keys_.keys()[i], values_[i], value(admitted[i], values_[i]),
                     value(otherwise[i], values_[i])});
  }
  return swaps;
}

void Exact::Exchange::write(const std::vector<Swap>& swaps, bool denied) {
  auto call = std::make_shared<SwapCall>(shared_from_this());
  const std::span<const std::shared_ptr<Part>> scripted = parts_;
  ScriptArguments arguments =
      script_arguments(scripted.first(is_scripted() ? 1 : 0), moment(*parts_[0]),
                       exact_.options_.clock, denied, swaps);
  call->slot = slot_;
  call->patient = is_patient(parts_);
  call->bytes = std::move(arguments.bytes);
  call->count = arguments.count;
  exact_.router_.send(std::move(call));
}

void Exact::Exchange::has_written(const net::RespReply& reply) {
  const auto read = ScriptReply::parse(reply);
  if (!read) return fail(unexpected);
  if (read->outcome == ScriptReply::Outcome::changed) {
    if (!read->now) return fail(unexpected);
    was_overtaken_ = true;
    return has_read({read->values.begin(), read->values.end()}, *read->now);
  }
  const bool admitted = read->outcome == ScriptReply::Outcome::admitted;
  const bool is_here = !is_scripted();
  finish([&](Part& part) {
    if (!is_here) {
      if (part.is_awaited()) decide_all(part, read->values);
      part.outcome = admitted ? Part::Outcome::admitted : Part::Outcome::denied;
      part.now = moment(part);
    }
    if (!part.is_awaited()) exact_.release(part);
    return part.outcome;
  });
}

template <class OutcomeOf>
void Exact::Exchange::finish(const OutcomeOf& outcome_of) {
  for (const std::shared_ptr<Part>& part : parts_) part->end(outcome_of(*part));
  exact_.next(queue_);
}

}  // namespace headgate::redis
