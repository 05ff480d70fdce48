#include "headgate/field/sf/parse.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headgate/field/sf/reader.h"

namespace headgate::field::sf {
namespace {

// Removes duplicate keys: each keeps its first position and its last value. Sorting takes n log n
// steps for any input, while a hash table could be attacked with colliding keys.
template <class Entry>
void keep_last_values(std::vector<Entry>& entries) {
  if (entries.size() < 2) return;
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int compared = entries[a].key.compare(entries[b].key);
    return compared != 0 ? compared < 0 : a < b;
  });
  std::vector<bool> superseded(entries.size());
  for (std::size_t i = 0; i < order.size();) {
    const std::size_t first = order[i];
    std::size_t last = first;
    for (++i; i < order.size() && entries[order[i]].key == entries[first].key; ++i) {
      last = order[i];
      superseded[last] = true;
    }
    if (last != first) entries[first].value = std::move(entries[last].value);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (superseded[i]) continue;
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.resize(kept);
}

BareItem value_of(const RawItem& raw) {
  switch (raw.type) {
    case Type::integer:
      return raw.number;
    case Type::decimal:
      return Decimal{raw.number};
    case Type::string:
      return decoded(raw);
    case Type::token:
      return Token{decoded(raw)};
    case Type::bytes:
      return Bytes{decoded(raw)};
    case Type::boolean:
      return raw.number != 0;
    case Type::date:
      return Date{raw.number};
    case Type::display_string:
      return DisplayString{decoded(raw)};
  }
  return {};
}

Parameters parameters(Reader& reader) {
  Parameters out;
  for (RawParameter raw; reader.parameter(raw);) {
    out.push_back({std::string(raw.key), value_of(raw.value)});
  }
  keep_last_values(out);
  return out;
}

// If reading fails, the return value is ignored, and result() returns the reader's error.
Item item(Reader& reader) {
  RawItem raw;
  if (!reader.bare_item(raw)) return {};
  Item out{value_of(raw), {}};
  out.parameters = parameters(reader);
  return out;
}

Member member(Reader& reader) {
  if (!reader.enter_inner_list()) return item(reader);
  InnerList list;
  for (bool more = reader.first_inner_item(); more; more = reader.next_inner_item()) {
    list.items.push_back(item(reader));
  }
  list.parameters = parameters(reader);
  return list;
}

template <class Value>
Result<Value, Error> result(const Reader& reader, Value value) {
  if (!reader.ok()) return Failure<Error>(reader.error());
  return value;
}

}  // namespace

Result<Item, Error> parse_item(std::string_view input) {
  Reader reader(input);
  reader.item_start();
  Item out = item(reader);
  reader.item_end();
  return result(reader, std::move(out));
}

Result<List, Error> parse_list(std::string_view input) {
  Reader reader(input);
  List out;
  for (bool more = reader.first_member(); more; more = reader.next_member()) {
    out.push_back(member(reader));
  }
  return result(reader, std::move(out));
}

Result<Dictionary, Error> parse_dictionary(std::string_view input) {
  Reader reader(input);
  Dictionary out;
  for (bool more = reader.first_member(); more; more = reader.next_member()) {
    std::string_view key;
    if (!reader.key(key)) break;
    if (reader.has_value()) {
      out.push_back({std::string(key), member(reader)});
    } else {
      out.push_back({std::string(key), Item{true, parameters(reader)}});
    }
  }
  keep_last_values(out);
  return result(reader, std::move(out));
}

std::string joined(std::span<const std::string_view> lines) {
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += ", ";
    out += lines[i];
  }
  return out;
}

}  // namespace headgate::field::sf
