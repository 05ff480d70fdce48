// Denials that Redis has decided, so that it is not asked again while they hold.
//
// A key of which not a single unit is left stays as it is until its law gives one: nothing can be
// taken, so its state does not change. This holds under that law, and if units come back in no
// other way (limit::Shared::denials_last). A key may have denials under several laws, such as those
// of an override of some paths alone. What no policy can exclude, such as a refund or another quota
// at another machine, is seen after a second, because no denial is remembered for longer.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/text_map.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"
#include "headgate/redis/boot_clock.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// Whether this changes the state of a key of which no unit is left.
[[nodiscard]] constexpr bool corrects(limit::Op op) noexcept {
  return op == limit::Op::refund || op == limit::Op::debit;
}

// Thread-safe.
class Denials {
 public:
  using Time = BootClock::time_point;

  // How long a denial is remembered at most.
  static constexpr BootClock::duration kept = std::chrono::seconds(1);
  // The memory that is used at most [bytes], about.
  static constexpr std::size_t room = std::size_t{8} << 20;

  // What Redis answered for a key.
  struct Denial {
    std::string state;  // as KeyState::bytes() returns it; empty: only `wait` is known
    Instant decided;    // by Redis' clock
    Time asked;         // before that
    Time answered;      // after that
    // Without a state, as Redis' module returns none: how long no unit comes back [ns]. Such a
    // denial is found by charges of one unit.
    Nanos wait = 0;
  };

  // Remembers that this charge was denied. Throws std::bad_alloc.
  void remember(const store::Charge& charge, Denial denial);
  // The state of the key was changed by a correction, or by what was admitted under another law.
  void forget(std::string_view key) noexcept;

  // How Redis would deny this charge now. std::nullopt if that is not known. Throws std::bad_alloc.
  [[nodiscard]] std::optional<limit::Decision> find(const store::Charge& charge, Time now);

 private:
  struct Entry {
    limit::Parameters law;
    Denial denial;
  };
  // Two generations, so that what is old can be dropped without looking for it. A denial moves
  // from the young to the old ones, and is forgotten.
  struct Shard {
    std::mutex lock;
    TextMap<std::vector<Entry>> young;  // an entry for each law
    TextMap<std::vector<Entry>> old;
    std::size_t used = 0;  // by the young ones [bytes], about
    Time since;            // when the first of the young ones came
  };
  static constexpr std::size_t shards = 16;

  // How a remembered denial denies this charge now, if it does.
  [[nodiscard]] static std::optional<limit::Decision> denied(const store::Charge& charge,
                                                             const Denial& denial, Time now);
  [[nodiscard]] Shard& shard(std::string_view key) noexcept;

  std::array<Shard, shards> shards_;
};

}  // namespace headgate::redis
