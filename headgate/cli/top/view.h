// A reading of `headgate top` as lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/cli/top/reading.h"

namespace headgate::cli {

struct Screen {
  std::size_t width;
  std::size_t height;
};
// Lines of printable ASCII, none wider than the screen. Both lists share its height; they are side
// by side if the width is enough.
[[nodiscard]] std::vector<std::string> top_lines(const TopReading& reading, const Screen& screen);

// The same without a limit of width and height.
[[nodiscard]] std::vector<std::string> top_lines(const TopReading& reading);

// "0.25", "12.3", "1234", "45.6k", "1.2M".
[[nodiscard]] std::string short_number(double value);

}  // namespace headgate::cli
