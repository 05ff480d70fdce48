// One call of Store::take, until it is completed.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <forward_list>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgate/redis/denials.h"
#include "headgate/redis/exact.h"
#include "headgate/redis/lease/leasing.h"
#include "headgate/redis/options.h"
#include "headgate/redis/part.h"
#include "headgate/store/mailbox.h"
#include "headgate/store/store.h"

namespace headgate::redis {

// Used by one thread, until it is complete and goes to the mailbox of the caller. May throw
// std::bad_alloc.
//
// Leased charges are decided first, because they are seldom asked for. A bundle whose other keys
// are in several slots is taken slot by slot at the same time. If one slot denies, or cannot be
// reached, what was taken is given back.
class Taking final : public std::enable_shared_from_this<Taking>,
                     private Part::Owner,
                     private store::Mailbox::Letter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Decides the bundles that are undecided. `now`: as Store::take() takes it. All are kept until
  // complete(); `clock` outlives this. `begin`: the time of the call.
  Taking(std::span<store::Bundle> bundles, std::optional<Instant>& now, store::Completion done,
         Time begin, const Options& options, const KnownClock& clock) noexcept
      : Letter([](Letter& self) noexcept { static_cast<Taking&>(self).open(); }),
        bundles_(bundles),
        given_(now),
        now_(now ? nullptr : &now),
        done_(done),
        patient_(std::ranges::all_of(
            bundles,
            [](const store::Bundle& bundle) { return bundle.patient || !bundle.undecided; })),
        deadline_(begin + (patient_ ? options.patience() : options.timeout)),
        known_(clock) {}

  // Who decides the parts. All outlive the call.
  struct Deciders {
    Exact& exact;
    Leasing& leasing;
    Denials& denials;
  };
  // Begins to decide the bundles. What Exact has gathered is still to be flushed.
  void begin(const Deciders& deciders, const Options& options);

  // Completes the call; bundles that are not decided stay undecided, and of them, what is to be
  // given back is given back later. Does nothing if that was done before.
  void complete() noexcept;
  // Why bundles are not decided yet, as a sentence. REQUIRES: begin(), and not complete.
  [[nodiscard]] const char* why_late() const;

  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
  [[nodiscard]] bool is_patient() const noexcept { return patient_; }
  [[nodiscard]] Time deadline() const noexcept { return deadline_; }

 private:
  using Parts = std::pmr::vector<Part*>;
  struct Split {
    explicit Split(std::pmr::memory_resource* memory) : parts(memory), part_of(memory) {}

    Parts parts;
    std::pmr::vector<std::size_t> part_of;               // per charge, its part
    std::size_t open = 0;                                // parts that are not decided
    void (Taking::*then)(std::size_t bundle) = nullptr;  // when none is open
  };

  [[nodiscard]] bool is_awaiting() const noexcept override { return !is_complete_; }
  void ended(const Part& part) override;

  void split(std::size_t bundle, const Options& options);
  [[nodiscard]] Part* new_part(std::size_t bundle, std::uint16_t slot);
  void decide(std::size_t bundle, Parts parts, void (Taking::*then)(std::size_t bundle));
  void decided_leased(std::size_t bundle);
  void decided(std::size_t bundle);
  void end_denials(const Part& part);
  void remember_denials(const Part& part);
  void give_back(std::size_t bundle);
  void given_back(std::size_t bundle);
  void write(std::size_t bundle, bool admitted);
  void close();
  void leave() noexcept;
  void open() noexcept;

  std::span<store::Bundle> bundles_;
  const std::optional<Instant> given_;
  std::optional<Instant>* now_;  // to be set; null: the caller gave a time
  store::Completion done_;
  const bool patient_;  // all its bundles are
  const Time deadline_;
  const KnownClock& known_;
  const Deciders* deciders_ = nullptr;
  Clock clock_ = Clock::redis;
  // What a bundle of three charges needs: one piece of memory in place of twenty.
  alignas(std::max_align_t) std::array<std::byte, 2560> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::forward_list<Part> parts_{&memory_};  // all that were made
  std::pmr::vector<Split> splits_{&memory_};      // one per bundle
  std::size_t open_ = 0;                          // bundles that are not decided
  bool is_beginning_ = false;
  bool is_complete_ = false;
  std::shared_ptr<Taking> kept_;  // itself, while it is in the mailbox
};

}  // namespace headgate::redis
