#include "headgate/store/sketch.h"

#include <algorithm>
#include <cstdlib>
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

}  // namespace

Sketch::Decided Sketch::decide(const UnkeptCharge& charge, const limit::Coarse& law,
                               std::optional<Nanos> floor) noexcept {
  head_->unkept.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t now = clamped(charge.now.ns);
  const Pair pair = cells_of(charge.key, part_for(law));
  if (charge.op == limit::Op::refund) {
    const Nanos left =
        charge.since == Instant{} ? 0 : law.left(charge.cost, charge.now.ns - charge.since.ns);
    for (DebtCell* cell : {pair.first, pair.second}) lower(*cell, left, now);
  }
  const std::int64_t from = floor ? std::max(clamped(*floor), now) : now;
  for (;;) {
    std::uint64_t early = pair.first->load();
    std::uint64_t late = pair.second->load();
    DebtCell* decides = pair.first;
    DebtCell* other = pair.second;
    if (late < early) {
      std::swap(early, late);
      std::swap(decides, other);
    }
    const std::int64_t begin = std::max(time_of(early), from);
    const Nanos debt = Nanos{begin} - now;
    limit::Coarse::Step step;
    switch (charge.op) {
      case limit::Op::spend:
        step = law.spend(debt, charge.cost);
        break;
      case limit::Op::peek:
        step = law.peek(debt, charge.cost);
        break;
      case limit::Op::debit:
        step = law.debit(debt, charge.cost);
        break;
      case limit::Op::refund:
        step.decision = law.admission(debt);
        break;
    }
    if (step.added == 0) return {step.decision, 0};
    std::int64_t end = 0;
    do {
      end = sum(std::max(time_of(late), from), step.added);
      announce(end, law);
    } while (!other->compare_exchange_weak(late, cell_of(end)));
    if (decides->compare_exchange_strong(early, cell_of(sum(begin, step.added)))) {
      return {step.decision, step.added};
    }
    lower(*other, step.added, now);
  }
}

void Sketch::take_back(const UnkeptCharge& charge, const limit::Coarse& law,
                       const Decided& decided) noexcept {
  const Pair pair = cells_of(charge.key, part_for(law));
  for (DebtCell* cell : {pair.first, pair.second}) {
    lower(*cell, decided.added, clamped(charge.now.ns));
  }
}

std::optional<Nanos> Sketch::find_debt(const Hash128& key, const limit::Coarse& law,
                                       Instant now) const noexcept {
  const std::optional<unsigned> part = find_part(law);
  if (!part) return std::nullopt;
  const Pair pair = cells_of(key, *part);
  const Nanos until = time_of(std::min(pair.first->load(), pair.second->load()));
  if (until <= now.ns) return std::nullopt;
  return std::min(until, now.ns + law.longest());
}

// The part whose class is that of the law; if all parts have other classes, the nearest one.
std::optional<unsigned> Sketch::find_part(const limit::Coarse& law) const noexcept {
  const std::uint64_t classes = head_->classes.load();
  const int wanted = limit::span_class(law.longest()) + 1;
  std::optional<unsigned> nearest;
  int distance = 0;
  for (unsigned part = 0; part < parts; ++part) {
    const int found = static_cast<int>(classes >> (8 * part) & 0xff);
    if (found == wanted) return part;
    if (found == 0) return std::nullopt;
    const int away = std::abs(found - wanted);
    if (!nearest || away < distance) {
      nearest = part;
      distance = away;
    }
  }
  return nearest;
}

unsigned Sketch::part_for(const limit::Coarse& law) noexcept {
  for (;;) {
    std::uint64_t classes = head_->classes.load();
    if (const auto part = find_part(law)) return *part;
    unsigned free = 0;
    while (free < parts && (classes >> (8 * free) & 0xff) != 0) ++free;
    if (free == parts) continue;  // another request has just taken the last one
    const auto mine = static_cast<std::uint64_t>(limit::span_class(law.longest()) + 1);
    head_->classes.compare_exchange_strong(classes, classes | mine << (8 * free));
  }
}

// The nth part begins after the halves, quarters and so on of the parts before it.
Sketch::Pair Sketch::cells_of(const Hash128& key, unsigned part) const noexcept {
  const std::size_t begin = cells_.size() - (cells_.size() >> part);
  const std::size_t size = cells_.size() >> (part + 1 < parts ? part + 1 : part);
  // Multiplied by odd constants, so that keys which share a bucket of the table do not share cells.
  const auto scaled = [&](std::uint64_t word) {
    return static_cast<std::size_t>(u128{word} * size >> 64);
  };
  const std::size_t first = scaled(key.lo * 0xd6e8feb86659fd93);
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

// Makes a debt shorter, but not shorter than nothing.
void Sketch::lower(DebtCell& cell, Nanos by, std::int64_t now) noexcept {
  std::uint64_t seen = cell.load();
  while (by > 0 && time_of(seen) > now) {
    const Nanos next = std::max<Nanos>(time_of(seen) - by, now);
    if (cell.compare_exchange_weak(seen, cell_of(static_cast<std::int64_t>(next)))) return;
  }
}

}  // namespace headgate::store
