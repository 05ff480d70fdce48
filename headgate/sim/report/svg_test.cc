#include "headgate/sim/report/svg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::sim {
namespace {

// Whether every element is closed, in order, every attribute quoted, and no bare & or < is left.
bool well_formed(std::string_view text) {
  std::vector<std::string> open;
  while (!text.empty()) {
    if (text[0] == '&') {
      const std::size_t end = text.find(';');
      if (end == std::string_view::npos || end > 6) return false;
      text.remove_prefix(end);
    } else if (text[0] == '<') {
      const std::size_t end = text.find('>');
      if (end == std::string_view::npos) return false;
      std::string_view tag = text.substr(1, end - 1);
      if (tag.find('<') != std::string_view::npos) return false;
      if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
      const std::string name(tag.substr(0, tag.find(' ')));
      if (name.starts_with('/')) {
        if (open.empty() || "/" + open.back() != name) return false;
        open.pop_back();
      } else if (!tag.ends_with('/')) {
        open.push_back(name);
      }
      text.remove_prefix(end);
    }
    text.remove_prefix(1);
  }
  return open.empty();
}

Figure everything(const std::string& text) {
  Plot plot;
  plot.title = text;
  plot.x = {text, 0, 10, {{5, text}}};
  plot.y = {text, 0, 4, round_ticks(0, 4)};
  plot.series = {Curve{{{0, 1}, {3, 2}}, true, Tone::third, text},
                 Bars{{{1, 2, 0, 3}}, Tone::second, Fill::striped, text},
                 Marks{{{1, 2}}, Mark::ring, Tone::first, text}, Level{3, text}};
  return {text, text, {plot, plot}};
}

TEST(Svg, IsWellFormedForAnyTexts) {
  EXPECT_FALSE(well_formed("<a><b></a></b>"));
  EXPECT_FALSE(well_formed("<a href=\"x>y</a>"));
  EXPECT_FALSE(well_formed("<a>1 & 2</a>"));
  for (const char* text : {"plain", "", "<script>alert(1)</script>", "\" onload=\"x", "a & b",
                           "\x01\x7f\xff\xc3", "</svg>", "]]>", "<!--"}) {
    const std::string drawn = svg(everything(text));
    EXPECT_TRUE(well_formed(drawn)) << drawn;
    EXPECT_EQ(drawn.find("<script"), std::string::npos);
    EXPECT_EQ(drawn.find_first_of("\x01\x7f\xff"), std::string::npos);
  }
}

TEST(Svg, DrawsPointsBeyondTheAxesAtTheirEnds) {
  constexpr double far = std::numeric_limits<double>::infinity();
  Figure wild = everything("x");
  wild.plots[0].series = {Marks{{{far, -far}, {std::nan(""), 1e300}}}};
  Figure held = everything("x");
  held.plots[0].series = {Marks{{{10, 0}, {0, 4}}}};
  EXPECT_EQ(svg(wild), svg(held));
}

TEST(Svg, ALabelIsInTheLegendOnce) {
  const std::string drawn = svg(everything("label"));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = drawn.find(">label<", at)) != std::string::npos; ++at) ++count;
  // Title and description, head, legend, and for both plots: title, y axis, level. The x axis is
  // shared: its title and tick are there once.
  EXPECT_EQ(count, 2u + 1 + 1 + 2 * 3 + 2);
}

TEST(Svg, TicksAreRoundAndWithin) {
  const auto labels = [](const std::vector<Tick>& ticks) {
    std::string out;
    for (const Tick& tick : ticks) out += tick.label + ' ';
    return out;
  };
  EXPECT_EQ(labels(round_ticks(0, 10, 5)), "0 2 4 6 8 10 ");
  EXPECT_EQ(labels(round_ticks(-0.3, 0.75, 5)), "-0.2 0 0.2 0.4 0.6 ");
  EXPECT_EQ(labels(round_ticks(0, 30'000, 3)), "0 10k 20k 30k ");
  EXPECT_EQ(labels(round_ticks(5, 5)), "");
  EXPECT_EQ(labels(round_ticks(0, std::nan(""))), "");
  for (double span = 1e-9; span < 1e18; span *= 3.7) {
    for (const double from : {0.0, -span / 3, span * 1000}) {
      const auto ticks = round_ticks(from, from + span, 6);
      EXPECT_GE(ticks.size(), 3u) << span;
      EXPECT_LE(ticks.size(), 10u) << span;
      for (const Tick& tick : ticks) {
        EXPECT_GE(tick.at, from - span * 1e-6);
        EXPECT_LE(tick.at, from + span * (1 + 1e-6));
      }
    }
  }
}

}  // namespace
}  // namespace headgate::sim
