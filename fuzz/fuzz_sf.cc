// Any bytes are refused, or have one canonical text, which is read as the same value.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headgate/field/sf/parse.h"
#include "headgate/field/sf/serialise.h"

namespace {

namespace sf = headgate::field::sf;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Parse>
void round_trip(std::string_view input, Parse parse) {
  const auto value = parse(input);
  if (!value) {
    require(value.error().what != nullptr && value.error().offset <= input.size());
    return;
  }
  const auto text = sf::serialise(*value);
  require(text.has_value());
  const auto again = parse(*text);
  require(again.has_value() && *again == *value);
  require(*sf::serialise(*again) == *text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  round_trip(input, sf::parse_item);
  round_trip(input, sf::parse_list);
  round_trip(input, sf::parse_dictionary);
  return 0;
}
