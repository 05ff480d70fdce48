#include "headgate/sim/report/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "headgate/base/utf8.h"

namespace headgate::sim {
namespace {

constexpr double text_size = 12;
constexpr double title_size = 15;
constexpr double line_height = 18;
constexpr double margin = 14;     // around everything
constexpr double plot_gap = 16;   // between plots
constexpr double tick_room = 20;  // for the labels below an x axis
constexpr double swatch = 22;     // a legend's sample of a series

// The average width of sans-serif digits and small letters, accurate enough for a layout.
double width_of(std::string_view text, double size = text_size) {
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return 0.58 * size * static_cast<double>(letters);
}

// Tenths of a pixel; "-0" is "0".
std::string px(double value) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.1f", value);
  std::string out(text.data(), static_cast<std::size_t>(size));
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

std::string_view name_of(Tone tone) {
  constexpr std::array<std::string_view, 4> names{"first", "second", "third", "quiet"};
  return names[static_cast<std::size_t>(tone)];
}

struct Colour {
  std::string_view name;
  std::string_view light;
  std::string_view dark;
};
constexpr std::array colours{
    Colour{"paper", "#ffffff", "#0d1117"},  Colour{"ink", "#1f2328", "#e6edf3"},
    Colour{"grid", "#e1e5ea", "#2a3038"},   Colour{"first", "#0a5fb4", "#6cb2ff"},
    Colour{"second", "#bf4408", "#ff9a5c"}, Colour{"third", "#0b7a5f", "#4fcfa9"},
    Colour{"quiet", "#59636e", "#9da7b1"},
};

// Each colour as class NAME, for shapes, and NAME-line, for lines.
std::string colour_rules(std::string_view Colour::*scheme) {
  std::string out;
  for (const Colour& colour : colours) {
    const std::string name(colour.name);
    const std::string value(colour.*scheme);
    out += ".headgate-plot ." + name + "{fill:" + value + "}.headgate-plot ." + name +
           "-line{stroke:" + value + "}";
  }
  return out;
}

std::string style() {
  return "<style>.headgate-plot text{font:" + px(text_size) +
         "px system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif}.headgate-plot "
         ".head{font-size:" +
         px(title_size) + "px;font-weight:600}.headgate-plot .name{font-weight:600}" +
         colour_rules(&Colour::light) + "@media (prefers-color-scheme:dark){" +
         colour_rules(&Colour::dark) + "}.headgate-plot .none{fill:none}</style>\n";
}

// Defines stripes for each tone that a striped series has. If a page has several figures, the
// definitions are repeated and equal.
std::string stripes(const std::set<Tone>& tones) {
  if (tones.empty()) return {};
  std::string out = "<defs>";
  for (const Tone tone : tones) {
    const std::string name(name_of(tone));
    out += "<pattern id=\"headgate-striped-" + name +
           "\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
           "patternTransform=\"rotate(45)\"><path class=\"" +
           name + "-line\" d=\"M1 0V4\" stroke-width=\"1.4\"/></pattern>";
  }
  return out + "</defs>\n";
}

// The attributes of a shape in this tone and fill.
std::string look(Tone tone, Fill fill) {
  const std::string name(name_of(tone));
  switch (fill) {
    case Fill::solid:
      return "class=\"" + name + "\"";
    case Fill::faint:
      return "class=\"" + name + "\" fill-opacity=\".25\"";
    case Fill::striped:
      return "class=\"" + name + "-line\" fill=\"url(#headgate-striped-" + name + ")\"";
    case Fill::hollow:
      break;
  }
  return "class=\"none " + name + "-line\" stroke-width=\"1.2\"";
}

class Drawing {
 public:
  explicit Drawing(const Figure& figure) : figure_(figure) {
    for (const Plot& plot : figure.plots) {
      double ticks = 0;
      for (const Tick& tick : plot.y.ticks) ticks = std::max(ticks, width_of(tick.label));
      left_ = std::max(left_, margin + (plot.y.title.empty() ? 0 : line_height) + ticks + 8);
      double last = plot.x.ticks.empty() ? 0 : width_of(plot.x.ticks.back().label) / 2;
      for (const Series& series : plot.series) {
        if (const auto* level = std::get_if<Level>(&series)) {
          last = std::max(last, width_of(level->name) + 6);
        }
        if (const auto* bars = std::get_if<Bars>(&series); bars && bars->fill == Fill::striped) {
          striped_.insert(bars->tone);
        }
      }
      right_ = std::max(right_, margin + last);
    }
  }

  std::string done() && {
    head();
    legend();
    for (std::size_t i = 0; i < figure_.plots.size(); ++i) {
      const bool shared =
          i + 1 < figure_.plots.size() && same(figure_.plots[i].x, figure_.plots[i + 1].x);
      plot(figure_.plots[i], !shared);
    }
    const std::string height = px(at_ - plot_gap + margin);
    const std::string width = px(figure_.width);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"headgate-plot\" role=\"img\" "
           "width=\"" +
           width + "\" height=\"" + height + "\" viewBox=\"0 0 " + width + ' ' + height + "\">\n" +
           (figure_.title.empty() ? "" : "<title>" + escape_markup(figure_.title) + "</title>\n") +
           (figure_.description.empty()
                ? ""
                : "<desc>" + escape_markup(figure_.description) + "</desc>\n") +
           style() + stripes(striped_) + "<rect class=\"paper\" width=\"" + width + "\" height=\"" +
           height + "\"/>\n" + out_ + "</svg>\n";
  }

 private:
  static bool same(const Axis& a, const Axis& b) {
    return a.title == b.title && a.from == b.from && a.to == b.to;
  }

  void text(double x, double y, std::string_view anchor, std::string_view kind,
            std::string_view words) {
    if (words.empty()) return;
    out_ += "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" class=\"" + std::string(kind) + "\"";
    if (anchor != "start") out_ += " text-anchor=\"" + std::string(anchor) + "\"";
    out_ += ">" + escape_markup(words) + "</text>\n";
  }

  void path(const std::string& d, std::string_view kind, std::string_view width,
            std::string_view more = "") {
    out_ += "<path class=\"none " + std::string(kind) + "\" stroke-width=\"" + std::string(width) +
            "\" " + std::string(more) + "d=\"" + d + "\"/>\n";
  }

  void head() {
    if (figure_.title.empty()) return;
    at_ += title_size;
    text(margin, at_, "start", "head ink", figure_.title);
    at_ += 12;
  }

  // Samples with their labels, in as many lines as needed.
  void legend() {
    std::set<std::string_view> labels;
    double x = margin;
    const auto entry = [&](const std::string& label, const auto& sample) {
      if (label.empty() || !labels.insert(label).second) return;
      const double width = swatch + 6 + width_of(label);
      if (x > margin && x + width > figure_.width - margin) {
        x = margin;
        at_ += line_height;
      }
      sample(x, at_ + line_height / 2);
      text(x + swatch + 6, at_ + line_height / 2 + 4, "start", "ink", label);
      x += width + 18;
    };
    for (const Plot& plot : figure_.plots) {
      for (const Series& series : plot.series) {
        if (const auto* curve = std::get_if<Curve>(&series)) {
          entry(curve->label, [&](double left, double middle) {
            path("M" + px(left) + ' ' + px(middle) + "H" + px(left + swatch), line_of(curve->tone),
                 "2");
          });
        } else if (const auto* bars = std::get_if<Bars>(&series)) {
          entry(bars->label, [&](double left, double middle) {
            rectangle(left + 4, middle - 5, swatch - 8, 10, look(bars->tone, bars->fill));
          });
        } else if (const auto* marks = std::get_if<Marks>(&series)) {
          entry(marks->label, [&](double left, double middle) {
            mark(marks->mark, marks->tone, left + swatch / 2, middle);
          });
        }
      }
    }
    if (!labels.empty()) at_ += line_height + 8;
  }

  void plot(const Plot& plot, bool lettered) {
    if (!plot.title.empty()) {
      text(left_, at_ + text_size, "start", "name ink", plot.title);
      at_ += line_height;
    }
    plot_ = &plot;
    top_ = at_;
    grid(lettered);
    for (const Series& series : plot.series) {
      std::visit([&](const auto& one) { draw(one); }, series);
    }
    path("M" + px(left_) + ' ' + px(bottom()) + "H" + px(right()), "quiet-line", "1");
    at_ = bottom() + plot_gap;
    if (!lettered) return;
    at_ += tick_room - 4;
    if (plot.x.title.empty()) return;
    text((left_ + right()) / 2, at_ + 4, "middle", "quiet", plot.x.title);
    at_ += line_height;
  }

  void grid(bool lettered) {
    for (const Tick& tick : plot_->y.ticks) {
      const double y = y_of(tick.at);
      path("M" + px(left_) + ' ' + px(y) + "H" + px(right()), "grid-line", "1");
      text(left_ - 6, y + 4, "end", "quiet", tick.label);
    }
    for (const Tick& tick : plot_->x.ticks) {
      const double x = x_of(tick.at);
      path("M" + px(x) + ' ' + px(top_) + "V" + px(bottom()), "grid-line", "1");
      if (lettered) text(x, bottom() + 15, "middle", "quiet", tick.label);
    }
    if (plot_->y.title.empty()) return;
    const double y = (top_ + bottom()) / 2;
    out_ += "<g transform=\"translate(" + px(margin + 8) + ' ' + px(y) + ") rotate(-90)\">";
    text(0, 0, "middle", "quiet", plot_->y.title);
    out_ += "</g>\n";
  }

  void draw(const Curve& curve) {
    if (curve.points.empty()) return;
    std::string d;
    for (const Point& point : curve.points) {
      const std::string x = px(x_of(point.x));
      const std::string y = px(y_of(point.y));
      if (d.empty()) {
        d = "M" + x + ' ' + y;
      } else if (curve.steps) {
        d += "H" + x + "V" + y;
      } else {
        d += "L" + x + ' ' + y;
      }
    }
    path(d, line_of(curve.tone), "2", "stroke-linejoin=\"round\" ");
  }

  void draw(const Bars& bars) {
    if (bars.boxes.empty()) return;
    const std::string kind = look(bars.tone, bars.fill);
    for (const Box& box : bars.boxes) {
      const double x = x_of(box.left);
      const double y = y_of(box.top);
      const double width = x_of(box.right) - x;
      const double height = y_of(box.bottom) - y;
      // Leaves a gap between neighbours if there is room.
      const double side = width > 4 ? 0.75 : 0;
      const double end = height > 4 ? 0.75 : 0;
      rectangle(x + side, y + end, width - 2 * side, height - 2 * end, kind);
    }
  }

  void draw(const Marks& marks) {
    for (const Point& point : marks.points) {
      mark(marks.mark, marks.tone, x_of(point.x), y_of(point.y));
    }
  }

  void draw(const Level& level) {
    const double y = y_of(level.y);
    path("M" + px(left_) + ' ' + px(y) + "H" + px(right()), "ink-line", "1.2",
         "stroke-dasharray=\"5 4\" ");
    text(right() + 6, y + 4, "start", "ink", level.name);
  }

  void rectangle(double x, double y, double width, double height, const std::string& kind) {
    if (width <= 0 || height <= 0) return;
    const double round = std::min({3.0, width / 3, height / 3});
    out_ += "<rect " + kind + " x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(width) +
            "\" height=\"" + px(height) + "\" rx=\"" + px(round) + "\"/>\n";
  }

  void mark(Mark mark, Tone tone, double x, double y) {
    out_ += "<circle " + look(tone, mark == Mark::dot ? Fill::solid : Fill::hollow) + " cx=\"" +
            px(x) + "\" cy=\"" + px(y) + "\" r=\"3.4\"/>\n";
  }

  static std::string line_of(Tone tone) { return std::string(name_of(tone)) + "-line"; }

  [[nodiscard]] double right() const { return figure_.width - right_; }
  [[nodiscard]] double bottom() const { return top_ + plot_->height; }
  [[nodiscard]] double x_of(double x) const {
    return left_ + share(plot_->x, x) * (right() - left_);
  }
  [[nodiscard]] double y_of(double y) const {
    return bottom() - share(plot_->y, y) * plot_->height;
  }

  // Returns the position on an axis, 0..1.
  static double share(const Axis& axis, double value) {
    const double share = (value - axis.from) / (axis.to - axis.from);
    return share > 0 ? std::min(share, 1.0) : 0;  // 0 for NaN
  }

  const Figure& figure_;
  std::set<Tone> striped_;
  double left_ = margin;
  double right_ = margin;
  double at_ = margin;  // y of the next element [px]
  const Plot* plot_ = nullptr;
  double top_ = 0;  // of plot_
  std::string out_;
};

}  // namespace

std::string svg(const Figure& figure) { return Drawing(figure).done(); }

std::vector<Tick> round_ticks(double from, double to, int about) {
  std::vector<Tick> ticks;
  if (!(to > from) || !std::isfinite(to - from) || about < 1) return ticks;
  const double least = (to - from) / about;
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double multiple : {5.0, 2.0, 1.0}) {
    if (multiple * power >= 0.7 * least) step = multiple * power;
  }
  const double slack = step * 1e-9;
  for (double i = std::ceil((from - slack) / step); i * step <= to + slack; ++i) {
    ticks.push_back({i * step, short_number(i * step)});
  }
  return ticks;
}

std::string short_number(double value) {
  constexpr std::array<std::string_view, 6> units{"", "k", "M", "G", "T", "P"};
  std::size_t unit = 0;
  while (std::abs(value) >= (unit == 0 ? 9999.5 : 999.5) && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.6g", value + 0.0);
  return std::string(text.data(), static_cast<std::size_t>(size)) + std::string(units[unit]);
}

std::string escape_markup(std::string_view text) {
  const bool valid = is_utf8(text);
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // XML allows neither control characters nor bytes that are not UTF-8.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += ' ';
        } else if (static_cast<unsigned char>(c) < 0x80 || valid) {
          out += c;
        } else {
          out += "\xef\xbf\xbd";
        }
    }
  }
  return out;
}

}  // namespace headgate::sim
