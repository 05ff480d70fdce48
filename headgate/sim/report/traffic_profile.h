// Counts per time and per path, for the report.
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

// Requests of one span of time, or to one path.
struct Tally {
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;

  void add(bool was_admitted) noexcept { ++(was_admitted ? admitted : denied); }
};

struct PathTally {
  std::string_view path;  // valid as long as the profile
  Tally tally;
};

// Time divided into equal parts of a usual length, such as 30 s or 6 h.
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

// Memory is bounded for any traffic: paths beyond paths_max are counted together. Not thread-safe.
class TrafficProfile {
 public:
  // Together they bound the memory to about 15 MB, and hold all paths of usual sites.
  static constexpr std::size_t paths_max = 50'000;
  static constexpr std::size_t path_bytes_max = 256;

  TrafficProfile(Instant first, Instant last) : timeline_(first, last) {}

  // Call it after scenario.play() of this request.
  void add(const Scenario& scenario, const LoggedRequest& record, Instant at);

  [[nodiscard]] const Timeline& timeline() const noexcept { return timeline_; }
  // The most denied paths, as upstreams route them, at most `count`, without those that were never
  // denied.
  [[nodiscard]] std::vector<PathTally> denied_paths(std::size_t count) const;
  // Requests to paths beyond paths_max.
  [[nodiscard]] const Tally& other_paths() const noexcept { return other_paths_; }

 private:
  Timeline timeline_;
  TextMap<Tally> paths_;
  Tally other_paths_;
  std::string path_buffer_;
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
