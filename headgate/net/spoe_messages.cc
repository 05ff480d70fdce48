#include "headgate/net/spoe_messages.h"

#include <algorithm>

namespace headgate::net {

const SpoeValue* SpoeMessage::find(std::string_view argument) const noexcept {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const SpoeArgument& each) { return each.name == argument; });
  return found == arguments.end() ? nullptr : &found->value;
}

std::optional<SpoeMessage> SpoeMessages::next() noexcept {
  const auto name = cursor_.text();
  const auto count = name ? cursor_.byte() : std::nullopt;
  if (!count) return std::nullopt;
  for (std::size_t i = 0; i < *count; ++i) {
    const auto argument = cursor_.text();
    const auto value = argument ? cursor_.value() : std::nullopt;
    if (!value) return std::nullopt;
    arguments_[i] = {*argument, *value};
  }
  return SpoeMessage{*name, std::span(arguments_).first(*count)};
}

}  // namespace headgate::net
