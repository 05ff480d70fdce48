// The charges of one bundle whose keys are in one slot, while they are decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgate/redis/boot_clock.h"
#include "headgate/redis/key_state.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

struct Part {
  // Who waits for parts.
  class Owner {
   public:
    // Whether it still waits: if not, the charges may be gone.
    [[nodiscard]] virtual bool is_awaiting() const noexcept = 0;
    // The part is decided, or cannot be. May throw std::bad_alloc.
    virtual void ended(const Part& part) = 0;

   protected:
    ~Owner() = default;
  };

  // Where a charge is decided.
  enum class Way : std::uint8_t {
    here,      // the law keeps no state
    scripted,  // by take.lua
    swapped,   // here, between a read and a write
  };
  enum class Outcome : std::uint8_t { undecided, admitted, denied };

  // `number`: of the bundle, to the owner. `waiting` and `memory` outlive this.
  Part(Owner& waiting, std::size_t number, std::pmr::memory_resource* memory)
      : owner(waiting),
        bundle(number),
        charges(memory),
        keys(memory),
        ways(memory),
        decisions(memory),
        denying(memory) {}

  Owner& owner;
  const std::size_t bundle;
  std::pmr::vector<store::Charge> charges;
  std::pmr::vector<std::string> keys;  // one per charge, as redis_key() returns them
  std::pmr::vector<Way> ways;          // one per charge
  std::uint16_t slot = 0;
  std::optional<Instant> given;  // the caller's time, if it decides
  bool patient = false;          // as store::Bundle, and what gives back always is
  // Whether the only charge is decided by Leasing.
  bool is_leased = false;
  BootClock::time_point asked = BootClock::now();  // before Redis was asked

  std::pmr::vector<limit::Decision> decisions;  // out; no meaning if the outcome is `undecided`
  Outcome outcome = Outcome::undecided;         // out
  Instant now;                                  // out; the moment of the decision
  // out; of each charge whose denial lasts, the state that denies it; otherwise empty
  std::pmr::vector<std::string> denying;
  // out; whether Redis' module has decided, which returns no states, so that `denying` is empty
  bool in_module = false;

  [[nodiscard]] bool is_awaited() const noexcept { return owner.is_awaiting(); }
  // Whether the charges are there: somebody waits, or the part has kept them.
  [[nodiscard]] bool has_charges() const noexcept { return is_awaited() || !laws.empty(); }
  // To be called once.
  void end(Outcome as) {
    outcome = as;
    is_over = true;
    owner.ended(*this);
  }
  bool is_over = false;
  // Of a part that is not over although Redis answers: what it waits for, as a sentence.
  const char* hold = nullptr;
  std::uint64_t answers_before = 0;  // of Redis to Exact, when it began to wait

  // Whether it gives back what was taken in Redis. That is made also if nobody waits any more: no
  // other store knows of it. Other corrections are made elsewhere if they are not decided.
  [[nodiscard]] bool gives_back() const noexcept;
  // To be called before the owner's charges are gone: keeps what it gives back, and only that.
  void keep_charges();

  void add(const store::Charge& charge, std::string key);
  // Adds a charge that is always denied, so that nothing is taken and what is left is shown.
  void deny();

  [[nodiscard]] std::size_t count(Way way) const noexcept;

  // A charge that takes slots, and a copy of its law, which may be gone when nobody waits any more.
  struct Slots {
    std::size_t charge;
    std::uint64_t cost;
    limit::Law law;
  };
  std::vector<Slots> slots;

  std::vector<limit::Law> laws;  // of keep_charges()

  // Decides over states, one per charge, as of `at`, which is noted. Does not end it.
  void decide(std::span<KeyState> states, Instant at);
};

// Of parts that are decided together: the others have the patience of those that have it.
[[nodiscard]] bool is_patient(std::span<const std::shared_ptr<Part>> parts) noexcept;

}  // namespace headgate::redis
