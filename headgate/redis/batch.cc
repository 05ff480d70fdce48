#include "headgate/redis/batch.h"

#include <algorithm>
#include <utility>

#include "headgate/redis/all_or_none.h"
#include "headgate/redis/time_to_live.h"

namespace headgate::redis {
namespace {

using Way = Part::Way;

// The most charges that are decided together: they need some 100 us, in which no reply is read.
constexpr std::size_t charges_max = 1024;
// The most keys: Redis needs some 3 us for each, in which nobody else is answered. Fewer would not
// do: a batch takes two round trips, and whose turn does not come within the timeout is not
// decided.
constexpr std::size_t keys_max = 128;

// The most bytes that bundles with scripted charges write, which each write a log as a whole; one
// may write more.
constexpr std::size_t bytes_max = 256 * 1024;

Write::Value value_of(const KeyState& state, Instant now, Clock clock) {
  if (!state.is_changed()) return {};
  return {state.bytes(), time_to_live(state.full_at(), now, clock)};
}

}  // namespace

bool Batch::fits(const Part& part) const {
  if (parts_.empty()) return true;
  if (part.given != parts_[0]->given) return false;  // the script decides as of one time
  const std::size_t keys = swapped_.keys.size() + scripted_.keys.size();
  if (charges_ + part.charges.size() > charges_max) return false;
  if (keys + part.keys.size() - part.count(Way::here) > keys_max) return false;
  // Laws of very large numbers are swapped. No key is decided in both ways at once.
  for (std::size_t i = 0; i < part.keys.size(); ++i) {
    const Keys& others = part.ways[i] == Way::swapped ? scripted_ : swapped_;
    if (part.ways[i] != Way::here && others.place_of.contains(part.keys[i])) return false;
  }
  return true;
}

void Batch::add(std::shared_ptr<Part> part) {
  charges_ += part->charges.size();
  for (std::size_t i = 0; i < part->keys.size(); ++i) {
    if (part->ways[i] != Way::here) {
      (part->ways[i] == Way::swapped ? swapped_ : scripted_).add(part->keys[i]);
    }
  }
  parts_.push_back(std::move(part));
}

Batch::Parts Batch::take_unawaited() {
  const auto awaited =
      std::stable_partition(parts_.begin(), parts_.end(),
                            [](const std::shared_ptr<Part>& part) { return !part->has_charges(); });
  return take_first(static_cast<std::size_t>(awaited - parts_.begin()));
}

Batch::Parts Batch::take_first(std::size_t count) {
  const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(count);
  Parts taken(std::make_move_iterator(parts_.begin()), std::make_move_iterator(end));
  parts_.erase(parts_.begin(), end);
  return taken;
}

bool Batch::note(std::span<const std::string_view> values) {
  const std::size_t all = swapped_.keys.size() + scripted_.keys.size();
  if (values.size() != swapped_.keys.size() && values.size() != all) return false;
  values_.resize(all);
  std::copy(values.begin(), values.end(), values_.begin());
  return true;
}

std::vector<Compared> Batch::compared() const {
  std::vector<Compared> all;
  all.reserve(swapped_.keys.size());
  for (std::size_t i = 0; i < swapped_.keys.size(); ++i) {
    all.push_back({swapped_.keys[i], values_[i]});
  }
  return all;
}

std::size_t Batch::place_of(const Part& part, std::size_t charge) const {
  const std::string_view key = part.keys[charge];
  if (part.ways[charge] == Way::swapped) return swapped_.place_of.find(key)->second;
  return swapped_.keys.size() + scripted_.place_of.find(key)->second;
}

std::vector<KeyState> Batch::states_of(const Part& part, std::span<const std::string> bytes) {
  std::vector<KeyState> states;
  states.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    states.emplace_back(*part.charges[i].law, bytes[i]);
  }
  return states;
}

std::vector<ScriptBundle> Batch::decide(Instant now, Clock clock) {
  std::vector<ScriptBundle> bundles;
  steps_.clear();
  std::vector<std::string> values = values_;
  // Where the bundle writes a swapped key. Bundles without scripted charges are one.
  std::vector<Write*> writes;
  std::size_t bytes = 0;
  for (std::size_t p = 0; p < parts_.size() && bytes < bytes_max; ++p) {
    Part& part = *parts_[p];
    const Instant at = part.given.value_or(now);
    const bool is_scripted = part.count(Way::scripted) > 0;
    if (bundles.empty() || is_scripted || bundles.back().part != nullptr) {
      bundles.emplace_back().writes.reserve(swapped_.keys.size());
      steps_.emplace_back();
      writes.assign(swapped_.keys.size(), nullptr);
    }
    ScriptBundle& bundle = bundles.back();
    Step& step = steps_.back();
    step.end = p + 1;
    step.before.assign(part.charges.size(), {});
    for (std::size_t i = 0; i < part.charges.size(); ++i) {
      if (part.ways[i] != Way::here) step.before[i] = values[place_of(part, i)];
    }
    std::vector<KeyState> states = states_of(part, step.before);
    part.decide(states, at);
    if (is_scripted) {
      bundle.part = &part;
      bundle.foreseen = part.outcome == Part::Outcome::admitted;
      add_verdicts(part, step, at, clock, bundle);
      for (const Write& write : bundle.writes) {
        bytes += write.admitted.bytes.size() + write.denied.bytes.size();
      }
    }
    for (std::size_t i = 0; i < part.charges.size(); ++i) {
      if (part.ways[i] == Way::here) continue;
      const std::size_t place = place_of(part, i);
      Write::Value value = value_of(states[i], at, clock);
      if (value.ttl == 0) continue;
      values[place] = value.bytes;
      if (is_scripted) continue;
      if (writes[place] == nullptr) {
        writes[place] = &bundle.writes.emplace_back(Write{place, {}, {}});
      }
      writes[place]->admitted = std::move(value);
    }
  }
  const bool acts = std::ranges::any_of(bundles, [](const ScriptBundle& bundle) {
    return bundle.part != nullptr || !bundle.writes.empty();
  });
  if (!acts) bundles.clear();
  return bundles;
}

// What the swapped charges write, if all charges are admitted and if one is denied.
void Batch::add_verdicts(const Part& part, const Step& step, Instant now, Clock clock,
                         ScriptBundle& bundle) const {
  std::vector<store::Charge> charges;
  std::vector<KeyState> before;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    if (part.ways[i] == Way::scripted) continue;
    charges.push_back(part.charges[i]);
    before.emplace_back(*part.charges[i].law, step.before[i]);
    at.push_back(i);
  }
  std::vector<limit::Decision> decisions(charges.size());
  std::vector<KeyState> admitted = before;
  bundle.denied = !decide_all_or_none(charges, admitted, now, decisions);
  std::vector<KeyState> denied = std::move(before);
  decide_denied<KeyState>(charges, denied, now, decisions);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (part.ways[at[i]] != Way::swapped) continue;
    Write write{place_of(part, at[i]), value_of(admitted[i], now, clock),
                value_of(denied[i], now, clock)};
    if (write.admitted.ttl > 0 || write.denied.ttl > 0) bundle.writes.push_back(std::move(write));
  }
}

bool Batch::is_answered_by(const ScriptReply& reply) const {
  const std::size_t decided = reply.verdicts.size();
  if (decided == 0 || decided > steps_.size()) return false;
  std::size_t values = leaves_values(reply) ? swapped_.keys.size() : 0;
  for (std::size_t s = 0; s < decided; ++s) {
    values += parts_[steps_[s].end - 1]->count(Way::scripted);
  }
  return reply.values.size() == values;
}

bool Batch::leaves_values(const ScriptReply& reply) const {
  return reply.verdicts.size() < steps_.size();
}

Batch::Parts Batch::take_decided(const ScriptReply& reply) {
  std::span<const std::string_view> values = reply.values;
  std::size_t decided = 0;
  for (std::size_t s = 0; s < reply.verdicts.size(); ++s) {
    Step& step = steps_[s];
    decided = step.end;
    Part& part = *parts_[decided - 1];
    const std::size_t mine = part.count(Way::scripted);
    if (mine == 0) continue;
    if (part.has_charges()) {
      for (std::size_t i = 0, next = 0; i < part.charges.size(); ++i) {
        if (part.ways[i] == Way::scripted) step.before[i] = values[next++];
      }
      std::vector<KeyState> states = states_of(part, step.before);
      part.decide(states, part.now);
      for (std::size_t i = 0; i < part.charges.size(); ++i) {
        if (part.ways[i] == Way::scripted) values_[place_of(part, i)] = states[i].bytes();
      }
    }
    values = values.subspan(mine);
    part.outcome = reply.verdicts[s] == '1' ? Part::Outcome::admitted : Part::Outcome::denied;
  }
  if (leaves_values(reply)) std::copy(values.begin(), values.end(), values_.begin());
  return take_first(decided);
}

}  // namespace headgate::redis
