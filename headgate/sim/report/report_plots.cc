#include "headgate/sim/report/report_plots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include "headgate/sim/report/figures.h"

namespace headgate::sim {
namespace {

// Of a time axis [px].
constexpr double letter_width = 7;
constexpr double tick_gap = 14;
constexpr double margins = 90;

double seconds(Nanos span) { return static_cast<double>(span) / 1e9; }

// Steps between ticks [s], by how their ticks are labelled.
constexpr double four_weeks = 2'419'200;
constexpr double day = 86'400;
constexpr double minute = 60;

// The label of a tick: the part of the time that differs between neighbouring ticks.
const char* format_for(double step) {
  if (step >= four_weeks) return "%Y-%m-%d";
  if (step >= day) return "%b %d";
  return step >= minute ? "%b %d %H:%M" : "%H:%M:%S";
}

std::string clock_text(double at, const char* format) {
  const auto when = static_cast<std::time_t>(at);
  std::tm parts{};
  std::array<char, 32> text{};
  if (gmtime_r(&when, &parts) == nullptr) return {};
  const std::size_t size = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), size};
}

// The title of the axis: the part of the time that the ticks leave out.
std::string time_title(double from, double to, double step) {
  if (step >= four_weeks) return "time [UTC]";
  const char* const format = step < minute ? "%b %d, %Y" : "%Y";
  const std::string first = clock_text(from, format);
  const std::string last = clock_text(to, format);
  return (step < minute ? "time on " : "time in ") + first + (first == last ? "" : " and " + last) +
         " [UTC]";
}

// In seconds since 1970.
Axis time_axis(double from, double to, double width) {
  constexpr std::array<double, 24> steps{
      1,      2,      5,       10,      15,        30,        60,        120,
      300,    600,    900,     1'800,   3'600,     7'200,     10'800,    21'600,
      43'200, 86'400, 172'800, 604'800, 1'209'600, 2'419'200, 7'862'400, 31'449'600};
  double step = steps.back() * std::ceil((to - from) / steps.back());
  for (const double candidate : steps) {
    const auto letters = static_cast<double>(clock_text(from, format_for(candidate)).size());
    if ((to - from) / candidate * (letters * letter_width + tick_gap) <= width - margins) {
      step = candidate;
      break;
    }
  }
  Axis axis{time_title(from, to, step), from, to, {}};
  const char* const format = format_for(step);
  for (double at = std::ceil(from / step) * step; at <= to; at += step) {
    axis.ticks.push_back({at, clock_text(at, format)});
  }
  return axis;
}

Axis count_axis(const std::string& title, double most) {
  const double to = most > 0 ? most * 1.08 : 1;
  Axis axis{title, 0, to, round_ticks(0, to, 5)};
  std::erase_if(axis.ticks, [](const Tick& tick) { return tick.at != std::floor(tick.at); });
  return axis;
}

// A logarithmic axis with powers of ten, so that small and large numbers are visible together.
Axis log_axis(const std::string& title, double most) {
  Axis axis{title, 0, std::max(1.0, std::log10(most) * 1.04), {}};
  for (double power = 0; power <= axis.to; ++power) {
    axis.ticks.push_back({power, short_number(std::pow(10, power))});
  }
  return axis;
}

double log_place(std::uint64_t number) {
  return number <= 1 ? 0 : std::log10(static_cast<double>(number));
}

std::string quota_label(std::uint64_t units, const std::string& unit) {
  return "quota " + (is_bytes(unit) ? bytes_text(units) : short_number(static_cast<double>(units)));
}

// "sliding" of "sliding-window-counter", "expon." of "exponential".
std::string short_name(const std::string& algorithm) {
  const std::string first = algorithm.substr(0, algorithm.find('-'));
  return first.size() <= 7 ? first : first.substr(0, 5) + '.';
}

Figure over_time(const Timeline& timeline, double width, double height) {
  const double step = seconds(timeline.width());
  const double begin = seconds(timeline.begin().ns);
  Bars admitted{{}, Tone::first, Fill::solid, "admitted"};
  Bars denied{{}, Tone::second, Fill::solid, "denied"};
  double most = 0;
  double at = begin;
  for (const Tally& part : timeline.parts()) {
    const auto low = static_cast<double>(part.admitted);
    const double high = low + static_cast<double>(part.denied);
    if (part.admitted > 0) admitted.boxes.push_back({at, at + step, 0, low});
    if (part.denied > 0) denied.boxes.push_back({at, at + step, low, high});
    most = std::max(most, high);
    at += step;
  }
  Plot plot{"",
            time_axis(begin, at, width),
            count_axis("requests in " + duration_text(timeline.width()), most),
            height,
            {}};
  plot.series = {std::move(admitted), std::move(denied)};
  Figure figure{"", "requests over time, the denied ones on top of the admitted ones", {}, width};
  figure.plots.push_back(std::move(plot));
  return figure;
}

}  // namespace

Figure traffic_figure(const Timeline& timeline, double width) {
  return over_time(timeline, width, 200);
}

Figure demand_figure(const Summary& summary, std::size_t policy, double width) {
  std::vector<std::uint64_t> offered;
  summary.each_partition(
      policy, [&](const PartitionTotals& partition) { offered.push_back(partition.offered); });
  std::sort(offered.rbegin(), offered.rend());
  Curve curve{{}, true, Tone::first, "asked for"};
  for (std::size_t i = 0; i < offered.size(); ++i) {
    if (i > 0 && i + 1 < offered.size() && offered[i] == offered[i - 1]) continue;
    curve.points.push_back({log_place(i + 1), log_place(offered[i])});
  }
  const limit::Quota& quota = summary.policies()[policy].grants.front().quota;
  const std::string& unit = summary.policies()[policy].unit;
  const double most = std::max(offered.empty() ? 1.0 : static_cast<double>(offered.front()),
                               static_cast<double>(quota.units));
  Plot plot{"",
            log_axis("partitions, the busiest first", static_cast<double>(offered.size())),
            log_axis(unit + " in " + duration_text(quota.window), most),
            200,
            {}};
  plot.series = {std::move(curve), Level{log_place(quota.units), quota_label(quota.units, unit)}};
  Figure figure{"",
                "the partitions by the units that they ask for in their busiest window, and the "
                "quota; both axes are logarithmic",
                {},
                width};
  figure.plots.push_back(std::move(plot));
  return figure;
}

Figure algorithms_figure(std::span<const UnderAlgorithm> all, const policy::Policy& policy,
                         double width) {
  Bars peaks{{}, Tone::first, Fill::solid, "admitted to one partition"};
  Axis x{"", 0, 1, {}};
  const auto quota = static_cast<double>(policy.grants.front().quota.units);
  double most = quota;
  double at = 0;
  const bool narrow = width < 500;
  for (const UnderAlgorithm& one : all) {
    if (one.policy != policy.index) continue;
    const auto peak = static_cast<double>(one.peak);
    peaks.boxes.push_back({at + 0.2, at + 0.8, 0, peak});
    x.ticks.push_back({at + 0.5, narrow ? short_name(one.algorithm) : one.algorithm});
    most = std::max(most, peak);
    ++at;
  }
  x.to = std::max(at, 1.0);
  Plot plot{
      "",
      std::move(x),
      count_axis(policy.unit + " in " + duration_text(policy.grants.front().quota.window), most),
      160,
      {}};
  plot.series = {std::move(peaks),
                 Level{quota, quota_label(policy.grants.front().quota.units, policy.unit)}};
  Figure figure{
      "", "the most units that one partition is admitted in any window, by algorithm", {}, width};
  figure.plots.push_back(std::move(plot));
  return figure;
}

Figure client_trace_figure(const ClientTrace& trace, double width) {
  if (trace.events.empty()) return {};
  Timeline timeline(trace.events.front().at, trace.events.back().at);
  for (const ClientTrace::Event& event : trace.events) timeline.add(event.at, event.admitted);
  return over_time(timeline, width, 110);
}

}  // namespace headgate::sim
