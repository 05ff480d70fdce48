// The strangers of a door by their source.
#pragma once

#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "headgate/server/source.h"

namespace headgate::server {

// Who gives way when there is no room for another one: one of the source that has the most. So a
// flood from one source drives out nobody from others. It allocates nothing.
class Crowd {
 public:
  // It may end while it is there only together with all others.
  struct Place : boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    explicit Place(void* its_who) noexcept : who(its_who) {}
    void* who;
    Source source = 0;
  };

  // As the last of its source that would give way.
  void add(Place& place) noexcept {
    by_source_[place.source].push_back(place);
    ++counts_[place.source];
  }
  void remove(Place& place) noexcept {
    Places& places = by_source_[place.source];
    places.erase(places.iterator_to(place));
    --counts_[place.source];
  }

  // REQUIRES: somebody is there.
  [[nodiscard]] void* first_to_go() noexcept {
    const auto most = std::max_element(counts_.begin(), counts_.end());
    return by_source_[static_cast<std::size_t>(std::distance(counts_.begin(), most))].front().who;
  }

 private:
  using Places = boost::intrusive::list<Place, boost::intrusive::constant_time_size<false>>;

  std::array<Places, source_count> by_source_;
  std::array<std::uint32_t, source_count> counts_{};
};

}  // namespace headgate::server
