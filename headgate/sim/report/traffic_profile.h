// What happened when, and where: what a report shows beside the summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/text_map.h"
#include "headgate/sim/scenario.h"

namespace headgate::sim {

// Requests of one stretch of time, or to one path.
struct Tally {
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;

  void add(bool was_admitted) noexcept { ++(was_admitted ? admitted : denied); }
};

struct PathTally {
  std::string_view path;  // good as long as the profile
  Tally tally;
};

// Time cut into equal parts of a length that people use, such as 30 s or 6 h.
class Timeline {
 public:
  Timeline(Instant first, Instant last);

  void add(Instant at, bool admitted) noexcept;

  [[nodiscard]] Instant begin() const noexcept { return begin_; }
  [[nodiscard]] Nanos width() const noexcept { return width_; }
  [[nodiscard]] const std::vector<Tally>& parts() const noexcept { return parts_; }

 private:
  Nanos width_;
  Instant begin_;
  std::vector<Tally> parts_;
};

// Bounded, whatever the traffic: of more paths than paths_max the rest is one. Not thread-safe.
class TrafficProfile {
 public:
  static constexpr std::size_t paths_max = 50'000;
  static constexpr std::size_t path_bytes_max = 256;

  TrafficProfile(Instant first, Instant last) : timeline_(first, last) {}

  // To be called after scenario.play() of this request.
  void add(const Scenario& scenario, const LoggedRequest& record, Instant at);

  [[nodiscard]] const Timeline& timeline() const noexcept { return timeline_; }
  // The most denied paths, at most `count`, without those that were never denied.
  [[nodiscard]] std::vector<PathTally> denied_paths(std::size_t count) const;
  // What came to paths beyond paths_max.
  [[nodiscard]] const Tally& other_paths() const noexcept { return other_paths_; }

 private:
  Timeline timeline_;
  TextMap<Tally> paths_;
  Tally other_paths_;
};

// The requests of one partition, one by one.
struct ClientTrace {
  static constexpr std::size_t events_max = 65'536;

  struct Event {
    Instant at;
    bool admitted;
  };

  std::size_t policy = 0;
  std::string key;
  std::vector<Event> events;
  bool cut = false;  // there were more than events_max
};

// Adds the last play() of the scenario to the traces that it belongs to.
void tell(std::vector<ClientTrace>& traces, const Scenario& scenario, Instant at);

}  // namespace headgate::sim
