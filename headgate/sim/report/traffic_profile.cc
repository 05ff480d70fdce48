#include "headgate/sim/report/traffic_profile.h"

#include <algorithm>

#include "headgate/policy/match/path.h"

namespace headgate::sim {
namespace {

constexpr Nanos parts_max = 160;

constexpr int minute = 60;
constexpr int hour = 60 * minute;
constexpr int day = 24 * hour;
constexpr int widths[] = {1,           2,           5,          10,         15,
                          30,          minute,      2 * minute, 5 * minute, 10 * minute,
                          15 * minute, 30 * minute, hour,       2 * hour,   3 * hour,
                          6 * hour,    12 * hour,   day,        2 * day,    7 * day,
                          14 * day,    28 * day,    91 * day,   364 * day};  // [s]

Nanos width_for(Nanos span) {
  for (const int seconds : widths) {
    if (span / (seconds * nanos_per_second) < parts_max) return seconds * nanos_per_second;
  }
  return span / (parts_max - 1);
}

}  // namespace

Timeline::Timeline(Instant first, Instant last)
    : width_(width_for(last.ns - first.ns)),
      begin_{first.ns / width_ * width_},
      parts_(static_cast<std::size_t>((last.ns - begin_.ns) / width_) + 1) {}

void Timeline::add(Instant at, bool admitted) noexcept {
  const Nanos part =
      std::clamp<Nanos>((at.ns - begin_.ns) / width_, 0, static_cast<Nanos>(parts_.size()) - 1);
  parts_[static_cast<std::size_t>(part)].add(admitted);
}

void TrafficProfile::add(const Scenario& scenario, const LoggedRequest& record, Instant at) {
  const bool admitted = !scenario.denied();
  timeline_.add(at, admitted);
  policy::FoldedPath folded(record.request().path, path_buffer_);
  const std::string_view path = folded.text().substr(0, path_bytes_max);
  auto found = paths_.find(path);
  if (found == paths_.end()) {
    if (paths_.size() >= paths_max) return other_paths_.add(admitted);
    found = paths_.emplace(path, Tally{}).first;
  }
  found->second.add(admitted);
}

std::vector<PathTally> TrafficProfile::denied_paths(std::size_t count) const {
  std::vector<PathTally> all;
  for (const auto& [path, tally] : paths_) {
    if (tally.denied > 0) all.push_back({path, tally});
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), count));
  std::partial_sort(all.begin(), end, all.end(), [](const PathTally& a, const PathTally& b) {
    return a.tally.denied != b.tally.denied ? a.tally.denied > b.tally.denied : a.path < b.path;
  });
  all.erase(end, all.end());
  return all;
}

void tell(std::vector<ClientTrace>& traces, const Scenario& scenario, Instant at) {
  scenario.each_answer([&](const policy::Match& match, const limit::Decision&, bool taken) {
    for (ClientTrace& trace : traces) {
      if (trace.policy != match.policy->index || trace.key != match.partition) continue;
      trace.cut = trace.cut || trace.events.size() == ClientTrace::events_max;
      if (!trace.cut) trace.events.push_back({at, taken});
    }
  });
}

}  // namespace headgate::sim
