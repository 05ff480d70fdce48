// The charges of one bundle whose keys are in one slot, while they are decided.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/redis/boot_clock.h"
#include "headgate/redis/key_state.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

struct Part {
  // Where a charge is decided.
  enum class Way : std::uint8_t {
    here,      // the law keeps no state
    scripted,  // by take.lua
    swapped,   // here, between a read and a write
  };
  enum class Outcome : std::uint8_t { undecided, admitted, denied };

  std::vector<store::Charge> charges;
  std::vector<std::string> keys;  // one per charge, as redis_key() returns them
  std::vector<Way> ways;          // one per charge
  std::uint16_t slot = 0;
  std::optional<Instant> given;  // the caller's time, if it decides
  // Whether the only charge is decided by Leasing.
  bool is_leased = false;
  BootClock::time_point asked = BootClock::now();  // before Redis was asked

  std::vector<limit::Decision> decisions;  // out; without meaning if the outcome is `undecided`
  Outcome outcome = Outcome::undecided;    // out
  Instant now;                             // out; the moment of the decision
  // out; of each charge whose denial lasts, the state that denies it; otherwise empty
  std::vector<std::string> denying;

  // Whether its caller still waits: if not, the charges may be gone.
  std::function<bool()> is_awaited;
  // Called once, when the part is decided or cannot be.
  std::function<void()> done;

  void add(const store::Charge& charge, std::string key);
  // Adds a charge that is always denied, so that nothing is taken and what is left is shown.
  void deny();

  [[nodiscard]] std::size_t count(Way way) const noexcept;
  // Whether the only key is swapped.
  [[nodiscard]] bool has_one_swapped_key() const noexcept;

  // Decides over states, one per charge, as of `now`, which is noted. Does not call done().
  void decide(std::vector<KeyState>& states, Instant at);
};

}  // namespace headgate::redis
