#include "headgate/redis/key.h"

#include <algorithm>
#include <variant>

namespace headgate::redis {
namespace {

// The letter of a kind of law: the position in limit::Law, from 'A'. The names of policies are
// shorter than 65 characters, so that their length is never a letter.
char kind_of(const limit::Law& law) noexcept { return static_cast<char>('A' + law.index()); }

bool is_linear(const limit::Law& law) noexcept {
  return std::holds_alternative<limit::LinearWhole>(law) ||
         std::holds_alternative<limit::LinearExact>(law);
}

// `kind`: '\0' for none.
std::string name_of(std::string_view prefix, char kind, std::string_view key) {
  std::string name;
  const std::size_t head =
      key.empty() ? 0 : std::min<std::size_t>(1 + static_cast<unsigned char>(key[0]), key.size());
  name.reserve(prefix.size() + key.size() + 3);
  name += prefix;
  if (kind != '\0') name += kind;
  name += key.substr(0, head);
  name += '{';
  name += key.substr(head);
  name += '}';
  return name;
}

}  // namespace

std::string redis_key(std::string_view prefix, const limit::Law& law, std::string_view key) {
  if (std::holds_alternative<limit::Closed>(law)) return {};
  return name_of(prefix, is_linear(law) ? '\0' : kind_of(law), key);
}

std::string leased_key(std::string_view prefix, const limit::Law& law, std::string_view key) {
  constexpr char linear = 'b';  // of both forms
  return name_of(prefix, is_linear(law) ? linear : static_cast<char>(kind_of(law) - 'A' + 'a'),
                 key);
}

std::uint16_t slot_of(std::string_view redis_key) noexcept {
  const std::size_t open = redis_key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = redis_key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      redis_key = redis_key.substr(open + 1, close - open - 1);
    }
  }
  unsigned crc = 0;  // CRC-16/XMODEM: polynomial 0x1021
  for (const char c : redis_key) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021u : 0u);
    crc &= 0xffff;
  }
  return static_cast<std::uint16_t>(crc % slots);
}

}  // namespace headgate::redis
