// Plots as SVG files: a figure of one or several plots, one above the other, with one legend.
//
// A figure is data: fill in the structs, then call svg(). It stands alone or inside an HTML page,
// follows the reader's choice of light or dark, and tells nothing by colour alone if series that
// could be confused differ in Fill or Mark, too. The same figure gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headgate::sim {

// Colours by their role. Each is one for light surroundings and one for dark ones.
enum class Tone : std::uint8_t { first, second, third, quiet };
enum class Fill : std::uint8_t { solid, faint, striped, hollow };
enum class Mark : std::uint8_t { dot, ring };

// All places are in the units of the axes. What lies beyond an axis is drawn at its end.
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

// What a plot can hold. A series with a label is in the legend; one label that comes in several
// plots is there once.
struct Curve {
  std::vector<Point> points;  // in the order of x
  bool steps = false;         // each y holds until the next x; otherwise straight lines
  Tone tone = Tone::first;
  std::string label{};
};
struct Bars {
  std::vector<Box> boxes;  // upright, lying or stacked, as their places say
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
  double height = 150;           // of what is within the axes [px]
  std::vector<Series> series{};  // the later ones cover the earlier ones
};

struct Figure {
  std::string title;
  std::string description;  // for those who can't see it
  std::vector<Plot> plots;  // if neighbours have the same x axis it is lettered once, below both
  double width = 760;       // [px]
};

// An <svg> element; every text in it is escaped.
[[nodiscard]] std::string svg(const Figure& figure);

// Multiples of 1, 2 or 5 times a power of ten within from..to, about so many; labels such as "0.5",
// "200", "1.5k", "3M".
[[nodiscard]] std::vector<Tick> round_ticks(double from, double to, int about = 6);

// A number as round_ticks() writes it.
[[nodiscard]] std::string short_number(double value);

// Text as it may stand in XML or HTML, within double quotes as well.
[[nodiscard]] std::string escape_markup(std::string_view text);

}  // namespace headgate::sim
