// A reading of `headgate top` as lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/cli/top/reading.h"

namespace headgate::cli {

// Lines of printable ASCII. On a screen both lists share `height` lines, side by side where `width`
// is enough, and nothing is wider than it.
struct Screen {
  std::size_t width;
  std::size_t height;
};
[[nodiscard]] std::vector<std::string> top_lines(const TopReading& reading, const Screen& screen);

// The same at full length.
[[nodiscard]] std::vector<std::string> top_lines(const TopReading& reading);

// "0.25", "12.3", "1234", "45.6k", "1.2M".
[[nodiscard]] std::string short_number(double value);

}  // namespace headgate::cli
