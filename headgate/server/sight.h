// What one station has seen of its decisions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/gate/ticket.h"
#include "headgate/server/door_kind.h"
#include "headgate/server/generation.h"

namespace headgate::server {

// Written by one thread, read by any.
class Sight {
 public:
  // A decision of one ticket was told; `took` is from its request's last byte to its reply [ns].
  void decided(DoorKind door, const Generation&, const gate::Ticket&, Nanos took) noexcept {
    Door& seen = doors_[static_cast<std::size_t>(door)];
    add(seen.decisions, 1);
    add(seen.nanos, static_cast<std::uint64_t>(took));
  }

  void connected(DoorKind door) noexcept { add(doors_[static_cast<std::size_t>(door)].opened, 1); }
  void disconnected(DoorKind door) noexcept {
    add(doors_[static_cast<std::size_t>(door)].closed, 1);
  }
  // A connection that was closed at once, because there were too many.
  void refused(DoorKind door) noexcept { add(doors_[static_cast<std::size_t>(door)].refused, 1); }

 private:
  using Count = std::atomic<std::uint64_t>;

  struct Door {
    Count decisions{0};
    Count nanos{0};
    Count opened{0};
    Count closed{0};
    Count refused{0};
  };

  // One writer: no locked instruction.
  static void add(Count& count, std::uint64_t more) noexcept {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  std::array<Door, door_names.size()> doors_;
};

}  // namespace headgate::server
