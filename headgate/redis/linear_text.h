// The state of a linear limit as Redis keeps it: text that people can read, and that Redis keeps as
// an integer where it is one.
//
//   1700000000123456789        the quota is full at this time [ns since 1970]
//   1700000000123456789+3/7    3/7 ns later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::redis {

struct LinearText {
  // Holds the longest text: a sign, three numbers of 39 digits, and what is between them.
  using Room = std::array<char, 128>;

  Nanos ns = 0;  // rounded down
  Nanos part = 0;
  Nanos scale = 1;  // `part` counts 1/scale ns

  // std::nullopt if the text is no such state. A time that needs more than 30 digits is reduced to
  // the latest that has 30.
  [[nodiscard]] static std::optional<LinearText> parse(std::string_view text) noexcept;
  // At least ten digits, so that the last nine and those before can be read apart.
  [[nodiscard]] std::string_view write(Room& room) const noexcept;
  [[nodiscard]] std::string text() const {
    Room room;
    return std::string(write(room));
  }
};

}  // namespace headgate::redis
