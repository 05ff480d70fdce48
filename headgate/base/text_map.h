// A map from texts that is searched with a view, without making a string of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headgate {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace headgate
