#include "headgate/redis/key_name.h"

#include <array>
#include <cstdint>

namespace headgate::redis {
namespace {

using limit::Algorithm;

constexpr std::size_t policy_max = 64;  // characters of a policy's name

// By the letters of redis_key(): the position in limit::Law, from 'A'.
constexpr char first_letter = 'D';
constexpr std::array<Algorithm, 5> lettered{Algorithm::exponential, Algorithm::fixed_window,
                                            Algorithm::sliding_window_counter,
                                            Algorithm::moving_window, Algorithm::concurrency};

Algorithm algorithm_of(std::string_view before) noexcept {
  if (before.empty() || before.back() < first_letter) return Algorithm::linear;
  const auto at = static_cast<std::size_t>(before.back() - first_letter);
  return at < lettered.size() ? lettered[at] : Algorithm::linear;
}

}  // namespace

std::optional<KeyName> KeyName::parse(std::string_view name) noexcept {
  if (!name.ends_with('}')) return std::nullopt;
  for (std::size_t open = name.find('{'); open != std::string_view::npos;
       open = name.find('{', open + 1)) {
    for (std::size_t size = 1; size <= policy_max && size < open; ++size) {
      const std::size_t length = open - size - 1;
      if (static_cast<unsigned char>(name[length]) != size) continue;
      return KeyName{name.substr(length + 1, size), name.substr(open + 1, name.size() - open - 2),
                     algorithm_of(name.substr(0, length))};
    }
  }
  return std::nullopt;
}

}  // namespace headgate::redis
