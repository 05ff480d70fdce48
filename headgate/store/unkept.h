// A charge on its way through a table: what happens if the table has no room for its key.
#pragma once

#include <optional>
#include <type_traits>

#include "headgate/limit/decision.h"
#include "headgate/limit/law.h"
#include "headgate/store/sketch.h"

namespace headgate::store {

// Where the states of a law have their places.
template <class Law>
[[nodiscard]] constexpr Room room_of() noexcept {
  if constexpr (std::is_same_v<Law, limit::Concurrency>) return Room::slots;
  if constexpr (std::is_same_v<Law, limit::LinearWhole>) return Room::narrow_cells;
  if constexpr (std::is_same_v<Law, limit::LinearExact>) return Room::wide_cells;
  return Room::ledger;
}

// Refers to the law and the sketch, which must outlive it.
template <class Law>
class Unkept {
 public:
  Unkept(Sketch& sketch, const Law& law, const UnkeptCharge& charge) noexcept
      : sketch_(sketch), law_(law), charge_(charge) {}

  // Whether a key without a state of its own may still have a debt.
  [[nodiscard]] bool busy() const noexcept { return sketch_.busy(charge_.now); }
  [[nodiscard]] bool refunds() const noexcept { return charge_.op == limit::Op::refund; }

  // Until when that debt lasts [ns]. A state that the key gets later has to begin with it.
  [[nodiscard]] std::optional<Nanos> owed_until() const noexcept {
    return sketch_.owed_until(charge_, law_.coarse());
  }
  // The same as units that the key has taken, 0 if none.
  [[nodiscard]] std::uint64_t units() const noexcept {
    const std::optional<Nanos> until = owed_until();
    return until ? law_.coarse().units(*until - charge_.now.ns) : 0;
  }

  // Whether a spend would be admitted.
  [[nodiscard]] bool admits() const noexcept {
    const std::optional<Nanos> until = owed_until();
    return law_.coarse().admits(until ? *until - charge_.now.ns : 0, charge_.cost);
  }

  Sketch::Decided decide(std::optional<Nanos> floor = std::nullopt) noexcept {
    return sketch_.decide(charge_, law_.coarse(), floor);
  }

 private:
  Sketch& sketch_;
  const Law& law_;
  const UnkeptCharge& charge_;
};

}  // namespace headgate::store
