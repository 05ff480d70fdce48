// Reads the messages in the payload of a NOTIFY frame.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/net/spoe_data.h"

namespace headgate::net {

struct SpoeArgument {
  std::string_view name;  // may be empty
  SpoeValue value;
};

struct SpoeMessage {
  std::string_view name;
  std::span<const SpoeArgument> arguments;  // valid until the next message is read

  // Returns the value of the first argument of this name; nullptr: there is none.
  [[nodiscard]] const SpoeValue* find(std::string_view argument) const noexcept;
};

// Large (14 KiB); reusable. Not thread-safe.
class SpoeMessages {
 public:
  void begin(std::string_view payload) noexcept { cursor_ = SpoeCursor(payload); }

  [[nodiscard]] bool at_end() const noexcept { return cursor_.at_end(); }
  // Returns the next message, unless at_end(). std::nullopt: the payload is malformed. It consists
  // of views of the payload.
  [[nodiscard]] std::optional<SpoeMessage> next() noexcept;

 private:
  static constexpr std::size_t arguments_most = 255;  // their number is one byte

  SpoeCursor cursor_{{}};
  std::array<SpoeArgument, arguments_most> arguments_;
};

}  // namespace headgate::net
