#include "headgate/store/sketch.h"

#include <algorithm>
#include <limits>

namespace headgate::store {
namespace {

// Times are within this distance of the origin [ns], 146 years, so that sums with debts fit into 64
// bits.
constexpr Nanos latest = Nanos{1} << 62;

std::int64_t clamped(Nanos time) noexcept {
  return static_cast<std::int64_t>(std::clamp(time, -latest, latest));
}

std::int64_t sum(std::int64_t time, Nanos span) noexcept {
  constexpr Nanos most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(time + span, most));
}

// No debt is longer than twice the longest window of its class [ns].
constexpr Nanos longest_of_class(const limit::Coarse& law) noexcept {
  return 2 * limit::longest_span(limit::span_class(law.longest()));
}
constexpr Nanos longest_of_all =
    2 * limit::longest_span(limit::span_class(limit::Coarse::longest_max));

// How SketchHead::classes names the part of a charge; never 0.
std::uint64_t name_of_part(const UnkeptCharge& charge, const limit::Coarse& law) noexcept {
  const unsigned span_class = limit::span_class(law.longest());
  const unsigned room = static_cast<unsigned>(charge.room) << limit::span_class_bits;
  return room | (charge.room == Room::slots ? std::max(span_class, 1u) : span_class);
}

limit::Coarse::Step apply_op(const limit::Coarse& law, const UnkeptCharge& charge,
                             Nanos debt) noexcept {
  switch (charge.op) {
    case limit::Op::spend:
      return law.spend(debt, charge.cost);
    case limit::Op::peek:
      return law.peek(debt, charge.cost);
    case limit::Op::debit:
      return law.debit(debt, charge.cost);
    case limit::Op::refund:
      break;
  }
  return {0, law.admission(debt)};
}

}  // namespace

Sketch::Decided Sketch::decide(const UnkeptCharge& charge, const limit::Coarse& law,
                               std::optional<Nanos> floor) noexcept {
  head_->unkept.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t now = clamped(charge.now.ns);
  const unsigned part = part_for(name_of_part(charge, law));
  const Pair pair = cells_of(charge.key, part, law);
  const bool own = part < own_parts;
  const Nanos longest_debt = own ? longest_of_class(law) : longest_of_all;
  heal(*pair.first, law, now, longest_debt);
  heal(*pair.second, law, now, longest_debt);
  if (own && charge.op == limit::Op::refund && law.slots() && charge.since != Instant{}) {
    lower(*pair.first, law.left(charge.cost, charge.now.ns - charge.since.ns), now);
  }
  const Nanos longest = charge.now.ns + law.longest();
  const std::int64_t from = floor ? std::max(clamped(std::min(*floor, longest)), now) : now;
  for (;;) {
    std::uint64_t early = pair.first->load();
    const std::uint64_t late = pair.second->load();
    DebtCell* decides = pair.first;
    DebtCell* other = pair.second;
    if (late < early) {
      early = late;
      std::swap(decides, other);
    }
    const std::int64_t begin = std::max(time_of(early), from);
    limit::Coarse::Step step = apply_op(law, charge, Nanos{begin} - now);
    step.decision.unkept = true;
    if (step.added == 0) return {step.decision, false};
    const std::int64_t end = sum(begin, step.added);
    announce(end, law);
    if (other != decides) raise(*other, end);
    if (decides->compare_exchange_strong(early, cell_of(end))) return {step.decision, true};
  }
}

std::optional<Nanos> Sketch::find_debt(const UnkeptCharge& charge,
                                       const limit::Coarse& law) const noexcept {
  const std::optional<unsigned> part = find_part(name_of_part(charge, law));
  if (!part) return std::nullopt;
  const Pair pair = cells_of(charge.key, *part, law);
  const Nanos until = time_of(std::min(pair.first->load(), pair.second->load()));
  if (until <= charge.now.ns) return std::nullopt;
  return std::min(until, charge.now.ns + law.longest());
}

// The part of this name; std::nullopt if there is none yet.
std::optional<unsigned> Sketch::find_part(std::uint64_t name) const noexcept {
  const std::uint64_t classes = head_->classes.load();
  for (unsigned part = 0; part < own_parts; ++part) {
    const std::uint64_t found = classes >> (8 * part) & 0xff;
    if (found == name) return part;
    if (found == 0) return std::nullopt;
  }
  return own_parts;
}

unsigned Sketch::part_for(std::uint64_t name) noexcept {
  for (;;) {
    std::uint64_t classes = head_->classes.load();
    if (const auto part = find_part(name)) return *part;
    unsigned used = 0;
    while (used < own_parts && (classes >> (8 * used) & 0xff) != 0) ++used;
    if (used == own_parts) continue;  // others have taken the last ones meanwhile
    head_->classes.compare_exchange_strong(classes, classes | name << (8 * used));
  }
}

// The nth part begins after the halves, quarters and so on of the parts before it.
Sketch::Pair Sketch::cells_of(const Hash128& key, unsigned part,
                              const limit::Coarse& law) const noexcept {
  const std::size_t begin = cells_.size() - (cells_.size() >> part);
  const std::size_t size = cells_.size() >> (part < own_parts ? part + 1 : part);
  // Multiplied by odd constants, so that keys which share a bucket of the table do not share cells.
  const auto scaled = [&](std::uint64_t word) {
    return static_cast<std::size_t>(u128{word} * size >> 64);
  };
  const std::size_t first = scaled(key.lo * 0xd6e8feb86659fd93);
  if (law.slots()) return {&cells_[begin + first], &cells_[begin + first]};
  const std::size_t second = scaled(key.hi * 0xa0761d6478bd642f);
  const std::size_t distinct = second != first ? second : first + 1 == size ? 0 : first + 1;
  return {&cells_[begin + first], &cells_[begin + distinct]};
}

// Some time ahead, so that only few charges change the line that all processes read.
void Sketch::announce(std::int64_t until, const limit::Coarse& law) noexcept {
  std::uint64_t seen = head_->busy_until.load();
  while (time_of(seen) < until) {
    const std::int64_t next = sum(until, law.longest() / 8);
    if (head_->busy_until.compare_exchange_weak(seen, cell_of(next))) return;
  }
}

// If a cell is later than the longest debt of its part, the file is damaged or the clock went back.
// Such a cell denies for a window.
void Sketch::heal(DebtCell& cell, const limit::Coarse& law, std::int64_t now,
                  Nanos longest_debt) noexcept {
  std::uint64_t seen = cell.load();
  if (time_of(seen) <= now + longest_debt) return;
  cell.compare_exchange_strong(seen, cell_of(sum(now, law.longest())));
}

void Sketch::raise(DebtCell& cell, std::int64_t until) noexcept {
  std::uint64_t seen = cell.load();
  while (time_of(seen) < until && !cell.compare_exchange_weak(seen, cell_of(until))) {
  }
}

void Sketch::lower(DebtCell& cell, Nanos by, std::int64_t now) noexcept {
  std::uint64_t seen = cell.load();
  while (time_of(seen) > now) {
    const Nanos next = std::max<Nanos>(time_of(seen) - by, now);
    if (cell.compare_exchange_weak(seen, cell_of(static_cast<std::int64_t>(next)))) return;
  }
}

}  // namespace headgate::store
