// Plots as SVG files: a figure of one or several plots, one above the other, with one legend.
//
// A figure is data: fill in the structs, then call svg(). It stands alone or inside an HTML page,
// follows the reader's choice of light or dark, and is readable without colours if similar series
// also differ in Fill or Mark. The same figure gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headgate::sim {

// Colours by their role. Each has a light and a dark version.
enum class Tone : std::uint8_t { first, second, third, quiet };
enum class Fill : std::uint8_t { solid, faint, striped, hollow };
enum class Mark : std::uint8_t { dot, ring };

// All coordinates are in the units of the axes. Points beyond an axis are drawn at its end.
struct Point {
  double x = 0;
  double y = 0;
};
struct Box {
  double left = 0;
  double right = 0;
  double bottom = 0;
  double top = 0;
};

// The kinds of series. A series with a label is in the legend; a label of several plots is there
// once.
struct Curve {
  std::vector<Point> points;  // in the order of x
  bool steps = false;         // each y holds until the next x; otherwise straight lines
  Tone tone = Tone::first;
  std::string label{};
};
struct Bars {
  std::vector<Box> boxes;  // upright, lying or stacked, by their coordinates
  Tone tone = Tone::first;
  Fill fill = Fill::solid;
  std::string label{};
};
struct Marks {
  std::vector<Point> points;
  Mark mark = Mark::dot;
  Tone tone = Tone::first;
  std::string label{};
};
// A dashed line across the plot, named to the right of it.
struct Level {
  double y = 0;
  std::string name;
};
using Series = std::variant<Curve, Bars, Marks, Level>;

struct Tick {
  double at = 0;
  std::string label{};
};

struct Axis {
  std::string title;  // with the unit: "time [s]"
  double from = 0;
  double to = 1;  // > from
  std::vector<Tick> ticks{};
};

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  double height = 150;           // between the axes [px]
  std::vector<Series> series{};  // the later ones cover the earlier ones
};

struct Figure {
  std::string title;
  std::string description;  // for screen readers
  std::vector<Plot>
      plots;  // if neighbours have the same x axis, its labels are below the lower one only
  double width = 760;  // [px]
};

// An <svg> element; every text in it is escaped.
[[nodiscard]] std::string svg(const Figure& figure);

// Returns multiples of 1, 2 or 5 times a power of ten within from..to, approximately `about` of
// them, with labels such as "0.5", "200", "1.5k", "3M".
[[nodiscard]] std::vector<Tick> round_ticks(double from, double to, int about = 6);

// A number as round_ticks() writes it.
[[nodiscard]] std::string short_number(double value);

// Escapes text for XML or HTML, also within double quotes.
[[nodiscard]] std::string escape_markup(std::string_view text);

}  // namespace headgate::sim
