#include "headgate/field/read/draft_07_reader.h"

#include <cstddef>

#include "headgate/field/sf/reader.h"

namespace headgate::field {
namespace {

struct Entry {
  const char* missing;
  const char* wrong;
  bool present = false;
  bool right = false;
  std::uint64_t number = 0;
  std::size_t offset = 0;
};

// Reads the value of a key, if "=" follows, and its parameters.
void read_value(sf::Reader& reader, Entry* entry, std::size_t offset) noexcept {
  sf::RawItem item{sf::Type::boolean, 1, {}};
  if (!reader.has_value()) {
    reader.skip_parameters();
  } else if (reader.at_inner_list()) {
    reader.skip_value();
  } else {
    if (!reader.bare_item(item)) return;
    reader.skip_parameters();
  }
  if (entry == nullptr) return;
  entry->present = true;
  entry->right = item.type == sf::Type::integer && item.number >= 0;
  entry->number = entry->right ? static_cast<std::uint64_t>(item.number) : 0;
  entry->offset = offset;
}

}  // namespace

Result<Draft07, sf::Error> read_draft_07(std::string_view value) noexcept {
  Entry limit{"expected the key limit beside remaining and reset",
              "expected an integer >= 0 as limit"};
  Entry remaining{"expected the key remaining beside limit and reset",
                  "expected an integer >= 0 as remaining"};
  Entry reset{"expected the key reset beside limit and remaining",
              "expected an integer >= 0 as reset"};
  sf::Reader reader(value);
  for (bool more = reader.first_member(); more; more = reader.next_member()) {
    const std::size_t offset = reader.offset();
    std::string_view key;
    if (!reader.key(key)) break;
    Entry* entry = key == "limit"       ? &limit
                   : key == "remaining" ? &remaining
                   : key == "reset"     ? &reset
                                        : nullptr;
    read_value(reader, entry, offset);
  }
  if (!reader.ok()) return Failure<sf::Error>(reader.error());
  for (const Entry* entry : {&limit, &remaining, &reset}) {
    if (!entry->present) return Failure<sf::Error>({entry->missing, value.size()});
    if (!entry->right) return Failure<sf::Error>({entry->wrong, entry->offset});
  }
  return Draft07{limit.number, remaining.number, reset.number};
}

bool resembles_draft_07(std::string_view value) noexcept {
  sf::Reader reader(value);
  std::string_view key;
  return reader.first_member() && reader.key(key) && reader.has_value();
}

}  // namespace headgate::field
