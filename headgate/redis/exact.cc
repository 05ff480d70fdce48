#include "headgate/redis/exact.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "headgate/net/resp_writer.h"
#include "headgate/redis/module_call.h"
#include "headgate/redis/script_call.h"

namespace headgate::redis {
namespace {

using Way = Part::Way;

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

// Whether Redis' module has no name for the law of a charge: those with a calendar or a delay.
bool has_unnamed_law(const Part& part) {
  return std::any_of(part.charges.begin(), part.charges.end(), [](const store::Charge& charge) {
    const limit::Terms terms = limit::parameters_of(*charge.law).terms;
    return terms.calendar != nullptr || terms.delay > 0;
  });
}

// The states of all charges, of which the scripted ones have these values.
std::vector<KeyState> states_of(const Part& part, std::span<const std::string_view> scripted) {
  std::vector<KeyState> states;
  states.reserve(part.charges.size());
  auto next = scripted.begin();
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    std::string_view bytes;
    if (part.ways[i] == Way::scripted && next != scripted.end()) bytes = *next++;
    states.emplace_back(*part.charges[i].law, bytes);
  }
  return states;
}

constexpr const char* too_many = "too many requests of one key wait for each other";
constexpr const char* no_answer = "Redis did not answer in time";
const std::string unexpected = "Redis sent a reply of an unexpected form";

}  // namespace

void Exact::decide(std::shared_ptr<Part> part) {
  if (part->count(Way::here) == part->charges.size()) {
    std::vector<KeyState> states = states_of(*part, {});
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
  if (part->count(Way::swapped) == 0) return decide_scripted(std::move(part));
  // It does not wait behind a patient part of the same key.
  if (!part->patient && router_.is_stalled(part->slot)) {
    fault_.note(no_answer);
    return part->end(Part::Outcome::undecided);
  }
  part->hold = too_many;
  part->answers_before = answers_;
  begin(waiting_.add(std::move(part)));
}

const char* Exact::why_late(const Part& part) {
  const bool answers = answers_ > part.answers_before && !router_.is_stalled(part.slot);
  return answers && part.hold != nullptr ? part.hold : no_answer;
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
      store::Charge charge{&taken.law, {}, taken.cost, limit::Op::refund};
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
    if (!lacks_module(why) || !part_->has_charges()) {
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
      if (part->has_charges()) {
        std::vector<KeyState> states = states_of(*part, values.first(mine));
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
  std::vector<ScriptBundle> bundles;
  for (const auto& part : parts) bundles.push_back({part.get(), denied, true, {}});
  ScriptArguments arguments = script_arguments(bundles, parts[0]->given, options_.clock, {});
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

class Exact::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Exact& exact, Batch batch)
      : exact_(exact), batch_(std::move(batch)), slot_(batch_.parts()[0]->slot) {
    for (const std::shared_ptr<Part>& part : batch_.parts()) part->hold = nullptr;
  }

  void read();
  void has_read(std::span<const std::string_view> values, Instant now);
  void has_written(const net::RespReply& reply);
  void fail(const std::string& why) {
    exact_.fault_.note(why);
    end(batch_.take_all(), Part::Outcome::undecided);
    over();
  }

 private:
  void attempt(Instant now);
  void write(std::span<const ScriptBundle> bundles, Instant now);
  void over() { exact_.begin(exact_.waiting_.release(batch_.swapped())); }
  static void end(const Batch::Parts& parts, Part::Outcome as) {
    for (const std::shared_ptr<Part>& part : parts) part->end(as);
  }
  // Ends parts that are decided.
  void end(const Batch::Parts& parts) const;

  Exact& exact_;
  Batch batch_;
  const std::uint16_t slot_;
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
    const std::vector<std::string_view> values(values_.begin(), values_.end());
    exchange_->has_read(values, *now);
  }
  void fail(const std::string& why) override { exchange_->fail(why); }

 private:
  const std::shared_ptr<Exchange> exchange_;
  std::vector<std::string> values_;
};

class Exact::WriteCall : public Call {
 public:
  explicit WriteCall(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  void answer(std::size_t, const net::RespReply& reply) override { exchange_->has_written(reply); }
  void fail(const std::string& why) override { exchange_->fail(why); }

 private:
  const std::shared_ptr<Exchange> exchange_;
};

void Exact::begin(WaitingParts::Next next) {
  for (Batch& batch : next.batches) std::make_shared<Exchange>(*this, std::move(batch))->read();
  for (const std::shared_ptr<Part>& part : next.unawaited) part->end(Part::Outcome::undecided);
}

// The time is read after the states, so that no state is of a later time.
void Exact::Exchange::read() {
  auto call = std::make_shared<ReadCall>(shared_from_this());
  call->slot = slot_;
  call->patient = is_patient(batch_.parts());
  call->replies = 2;
  net::RespWriter out(call->bytes);
  out.array(1 + batch_.swapped().size() + batch_.scripted().size());
  out.bulk("MGET");
  for (const std::string& key : batch_.swapped()) out.bulk(key);
  for (const std::string& key : batch_.scripted()) out.bulk(key);
  out.command({"TIME"});
  exact_.router_.send(std::move(call));
}

void Exact::Exchange::has_read(std::span<const std::string_view> values, Instant now) {
  if (!batch_.note(values)) return fail(unexpected);
  attempt(now);
}

void Exact::Exchange::attempt(Instant now) {
  exact_.clock_.note(now);
  ++exact_.answers_;
  end(batch_.take_unawaited(), Part::Outcome::undecided);
  const std::vector<ScriptBundle> bundles = batch_.decide(now, exact_.options_.clock);
  if (!bundles.empty()) return write(bundles, now);
  end(batch_.take_all());
  over();
}

void Exact::Exchange::write(std::span<const ScriptBundle> bundles, Instant now) {
  auto call = std::make_shared<WriteCall>(shared_from_this());
  const Part& first = *batch_.parts()[0];
  ScriptArguments arguments = script_arguments(bundles, first.given.value_or(now),
                                               exact_.options_.clock, batch_.compared());
  call->slot = slot_;
  call->patient = is_patient(batch_.parts());
  call->bytes = std::move(arguments.bytes);
  call->count = arguments.count;
  exact_.router_.send(std::move(call));
}

void Exact::Exchange::has_written(const net::RespReply& reply) {
  const auto read = ScriptReply::parse(reply);
  if (!read) return fail(unexpected);
  if (read->changed) {
    for (const std::shared_ptr<Part>& part : batch_.parts()) {
      part->hold = "Redis answers in time, but each time another process has changed the key";
    }
    if (!batch_.note(read->values)) return fail(unexpected);
  } else {
    if (!batch_.is_answered_by(*read)) return fail(unexpected);
    end(batch_.take_decided(*read));
    if (batch_.parts().empty()) return over();
    if (!batch_.leaves_values(*read)) {
      for (const std::shared_ptr<Part>& part : batch_.parts()) part->hold = too_many;
      return this->read();
    }
  }
  if (!read->now) return fail(unexpected);
  attempt(*read->now);
}

void Exact::Exchange::end(const Batch::Parts& parts) const {
  for (const std::shared_ptr<Part>& part : parts) {
    if (!part->is_awaited()) exact_.release(*part);
    part->end(part->outcome);
  }
}

}  // namespace headgate::redis
