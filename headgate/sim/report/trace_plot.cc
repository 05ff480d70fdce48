#include "headgate/sim/report/trace_plot.h"

#include <algorithm>
#include <array>
#include <utility>

#include "headgate/sim/report/figures.h"
#include "headgate/sim/simulator.h"

namespace headgate::sim {
namespace {

constexpr int samples = 640;        // of the units left, from end to end: about one per pixel
constexpr int stacks_across = 76;   // of requests, side by side: about 10 px each
constexpr double overhang = 0.015;  // of the axis, before the first line and behind the last
constexpr double plot_height = 150;
constexpr double block_height_min =
    4;  // [px]; smaller neighbours are joined, or they would be invisible

struct TimeUnit {
  const char* name;
  double seconds;
};

// Returns the unit that gives short numbers for a span [s].
TimeUnit unit_for(double span) {
  for (const TimeUnit& unit : {TimeUnit{"d", 86400}, TimeUnit{"h", 3600}, TimeUnit{"min", 60}}) {
    if (span >= 3 * unit.seconds) return unit;
  }
  return span >= 0.003 || span == 0 ? TimeUnit{"s", 1} : TimeUnit{"ms", 0.001};
}

// One request of one key.
struct Request {
  double at;
  double units;
  bool admitted;
};

struct Track {
  Question question;  // a peek of cost 0
  std::string title;
  std::string unit;
  double quota = 0;
  std::vector<Request> requests;
  std::vector<Point> left;
  std::vector<Point> given_back;
};

// "burst: q=5, w=10 s; key a".
std::string title_of(const policy::Match& match, const std::string& key) {
  const limit::Quota& quota = match.grant->quota;
  std::string title = match.policy->name + ": q=" + std::to_string(quota.units);
  if (match.policy->terms.algorithm != limit::Algorithm::concurrency) {
    const double window = static_cast<double>(quota.window) / 1e9;
    const TimeUnit unit = unit_for(window);
    title += ", w=" + short_number(window / unit.seconds) + ' ' + unit.name;
  }
  if (!key.empty()) title += "; key " + key;
  return title;
}

// A track's requests as stacks of units: requests of nearly the same time are stacked.
class Stacks {
 public:
  Stacks(const Track& track, double width) : width_(width) {
    for (const Request& request : track.requests) {
      if (at_.empty() || request.at >= at_.back() + width) {
        at_.push_back(request.at);
        top_ = 0;
      }
      blocks_.push_back({at_.size() - 1, top_, top_ + request.units, request.admitted});
      top_ += request.units;
      highest_ = std::max(highest_, top_);
    }
  }

  [[nodiscard]] double highest() const { return highest_; }

  // Returns the boxes of admitted requests, or those of denied ones. Blocks of less than `least`
  // units are joined.
  [[nodiscard]] std::vector<Box> boxes(bool admitted, double least) const {
    std::vector<Box> boxes;
    const Block* before = nullptr;
    for (const Block& block : blocks_) {
      const bool joins = before != nullptr && before->stack == block.stack &&
                         before->admitted == block.admitted && block.top - block.bottom < least;
      before = &block;
      if (block.admitted != admitted) continue;
      if (joins) {
        boxes.back().top = block.top;
      } else {
        const double middle = at_[block.stack];
        boxes.push_back({middle - width_ / 2, middle + width_ / 2, block.bottom, block.top});
      }
    }
    return boxes;
  }

 private:
  struct Block {
    std::size_t stack;
    double bottom;
    double top;
    bool admitted;
  };

  double width_;
  std::vector<double> at_;
  std::vector<Block> blocks_;
  double top_ = 0;
  double highest_ = 0;
};

class TracePlot {
 public:
  TracePlot(const std::shared_ptr<const policy::PolicySet>& policies, store::Store& store,
            Instant begin, Instant end)
      : policies_(*policies),
        simulator_(policies, store),
        unit_(unit_for(static_cast<double>(end.ns - begin.ns) / 1e9)),
        zero_(floor_div(begin.ns, nanos_per_second) * nanos_per_second),
        begin_(begin.ns),
        span_(std::max<Nanos>(1, end.ns - begin.ns)) {
    const double length = std::max(at(end.ns) - at(begin.ns), 0.001);
    from_ = at(begin.ns) - overhang * length;
    to_ = at(end.ns) + overhang * length;
  }

  // Lines must come in the order of time. Returns false if there are too many keys.
  bool add(const TraceLine& line) {
    sample_until(line.at.ns);
    std::vector<std::size_t> used;
    std::string text;
    for (const Question& question : line.questions) {
      const auto match = policies_.named(question.policy, question.key, 0, text);
      if (!match) return true;  // the simulator refuses this line
      used.push_back(track(*match, question));
      sample(tracks_[used.back()], line.at.ns);
    }
    if (tracks_.size() > plotted_keys_max) return false;
    const auto answers = simulator_.apply(line);
    for (std::size_t i = 0; answers && i < used.size(); ++i) {
      Track& one = tracks_[used[i]];
      sample(one, line.at.ns);
      const double x = at(line.at.ns);
      const auto units = static_cast<double>(line.questions[i].cost);
      if (line.op == limit::Op::spend && units > 0) {
        one.requests.push_back({x, units, answers->results[i].taken});
      } else if (line.op == limit::Op::refund && !one.left.empty()) {
        one.given_back.push_back({x, one.left.back().y});
      }
    }
    return true;
  }

  Figure figure() {
    sample_until(begin_ + span_ + span_ * 2 / 100);
    Figure figure;
    figure.description =
        "For each key, over time: its requests as stacks of the units that they "
        "asked for, admitted or denied, and a line for the units that were left.";
    for (const Track& track : tracks_) figure.plots.push_back(plot(track));
    return figure;
  }

 private:
  [[nodiscard]] double at(Nanos ns) const {
    return static_cast<double>(ns - zero_) / 1e9 / unit_.seconds;
  }

  std::size_t track(const policy::Match& match, const Question& question) {
    const auto same = [&](const Track& track) {
      return track.question.policy == question.policy && track.question.key == question.key;
    };
    const auto found = std::find_if(tracks_.begin(), tracks_.end(), same);
    if (found != tracks_.end()) return static_cast<std::size_t>(found - tracks_.begin());
    Track track;
    track.question = {question.policy, question.key, 0};
    track.title = title_of(match, question.key);
    track.unit = match.policy->unit;
    track.quota = static_cast<double>(match.grant->quota.units);
    tracks_.push_back(std::move(track));
    return tracks_.size() - 1;
  }

  // Samples every pixel up to a moment.
  void sample_until(Nanos ns) {
    for (; next_sample_ < samples * 2; ++next_sample_) {
      const Nanos moment = begin_ + span_ * next_sample_ / samples;
      if (moment >= ns) return;
      for (Track& track : tracks_) sample(track, moment);
    }
  }

  void sample(Track& track, Nanos ns) {
    TraceLine line;
    line.at.ns = ns;
    line.op = limit::Op::peek;
    line.questions = {track.question};
    const auto answers = simulator_.apply(line);
    if (!answers || !answers->results[0].remaining) return;  // not limited
    const auto left = static_cast<double>(*answers->results[0].remaining);
    if (track.left.empty()) track.left.push_back({from_, left});
    if (track.left.back().y != left) track.left.push_back({at(ns), left});
  }

  [[nodiscard]] Plot plot(const Track& track) const {
    const double width = (to_ - from_) / stacks_across;
    const Stacks stacks(track, width);
    Plot plot;
    plot.title = track.title;
    plot.height = plot_height;
    plot.x = {"time [" + std::string(unit_.name) + "] since " +
                  date_text(Instant{zero_}, "the first line's second"),
              from_, to_, round_ticks(from_, to_, 10)};
    plot.y.title = track.unit;
    plot.y.to = 1.08 * std::max({track.quota, stacks.highest(), 1.0});
    plot.y.ticks = round_ticks(0, plot.y.to, 5);
    const double least = plot.y.to / plot_height * block_height_min;
    Curve left{track.left, true, Tone::third, "units left (r)"};
    if (!left.points.empty()) left.points.push_back({to_, left.points.back().y});
    plot.series = {std::move(left),
                   Bars{stacks.boxes(true, least), Tone::first, Fill::solid, "admitted"},
                   Bars{stacks.boxes(false, least), Tone::second, Fill::striped, "denied"}};
    if (!track.given_back.empty()) {
      plot.series.emplace_back(Marks{track.given_back, Mark::ring, Tone::third, "given back"});
    }
    plot.series.emplace_back(Level{track.quota, "quota"});
    return plot;
  }

  const policy::PolicySet& policies_;
  Simulator simulator_;
  TimeUnit unit_;
  Nanos zero_;
  Nanos begin_;
  Nanos span_;
  double from_ = 0;
  double to_ = 1;
  Nanos next_sample_ = 0;
  std::vector<Track> tracks_;
};

}  // namespace

Result<void, std::string> read_trace(Lines& lines, std::vector<TraceLine>& trace) {
  for (Line line; lines.next(line);) {
    if (line.cut) continue;
    auto parsed = parse_trace_line(line.text);
    if (!parsed) continue;
    if (trace.size() == plotted_lines_max) {
      return Failure<std::string>("there are more than " + std::to_string(plotted_lines_max) +
                                  " lines, too many to be seen");
    }
    trace.push_back(*std::move(parsed));
  }
  if (!lines.error().empty()) return Failure<std::string>(lines.error());
  return {};
}

Result<Figure, std::string> plot_trace(const std::shared_ptr<const policy::PolicySet>& policies,
                                       store::Store& store, std::span<const TraceLine> lines) {
  if (lines.empty()) return Failure<std::string>("it has no line that can be read");
  const auto earlier = [](const TraceLine& a, const TraceLine& b) { return a.at < b.at; };
  if (!std::is_sorted(lines.begin(), lines.end(), earlier)) {
    return Failure<std::string>("its lines go back in time");
  }
  TracePlot plot(policies, store, lines.front().at, lines.back().at);
  for (const TraceLine& line : lines) {
    if (!plot.add(line)) {
      return Failure<std::string>("it has more than " + std::to_string(plotted_keys_max) +
                                  " policies and keys, too many to be seen");
    }
  }
  return plot.figure();
}

}  // namespace headgate::sim
