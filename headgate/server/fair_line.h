// A line in which the sources take turns.
#pragma once

#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>

#include "headgate/server/source.h"

namespace headgate::server {

// Connections of one source wait for each other, and not for those of others, however many they
// are. It allocates nothing.
class FairLine {
 public:
  // A connection's place, which it leaves when this ends.
  struct Place : boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    explicit Place(void* its_who) noexcept : who(its_who) {}
    void* who;
    Source source = 0;
  };

  using Places = boost::intrusive::list<Place, boost::intrusive::constant_time_size<false>>;

  // REQUIRES: `place` is in no line.
  void push(Place& place) noexcept {
    Lane& lane = lanes_[place.source];
    lane.places.push_back(place);
    if (!lane.is_linked()) lanes_in_turn_.push_back(lane);
  }

  // Takes the next one out; nullptr if there is none.
  [[nodiscard]] Place* pop() noexcept {
    while (!lanes_in_turn_.empty()) {
      Lane& lane = lanes_in_turn_.front();
      lanes_in_turn_.pop_front();
      if (lane.places.empty()) continue;  // its connections were closed
      Place& next = lane.places.front();
      lane.places.pop_front();
      if (!lane.places.empty()) lanes_in_turn_.push_back(lane);
      return &next;
    }
    return nullptr;
  }

  // Moves all of them to the end of `others`.
  void take_all(Places& others) noexcept {
    for (Lane& lane : lanes_in_turn_) others.splice(others.end(), lane.places);
    lanes_in_turn_.clear();
  }

  [[nodiscard]] bool empty() const noexcept {
    return std::all_of(lanes_in_turn_.begin(), lanes_in_turn_.end(),
                       [](const Lane& lane) { return lane.places.empty(); });
  }

 private:
  struct Lane : boost::intrusive::list_base_hook<> {
    Places places;
  };

  std::array<Lane, source_count> lanes_;
  boost::intrusive::list<Lane> lanes_in_turn_;  // all that have places, and perhaps others
};

}  // namespace headgate::server
