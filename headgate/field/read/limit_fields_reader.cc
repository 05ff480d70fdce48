#include "headgate/field/read/limit_fields_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "headgate/base/instant.h"
#include "headgate/field/read/plain_number.h"
#include "headgate/field/read/reset.h"
#include "headgate/field/sf/reader.h"

namespace headgate::field {
namespace {

constexpr const char* no_number = "expected a number >= 0";

class LimitFieldsReader {
 public:
  LimitFieldsReader(std::span<const HeaderLine> headers, std::string_view prefix, Grammar grammar,
                    std::optional<std::int64_t> base, IgnoredList& ignored)
      : headers_(headers), prefix_(prefix), grammar_(grammar), base_(base), ignored_(ignored) {}

  LimitFieldsReading read() {
    limit();
    remaining();
    used();
    reset();
    return std::move(reading_);
  }

 private:
  void limit() {
    const auto value = field("limit");
    if (!value) return;
    auto read = read_limit_in_force(*value);
    if (read) {
      reading_.limit = read->q;
      reading_.policies = std::move(read->policies);
      return;
    }
    if (grammar_ == Grammar::wild) {
      if (const auto number = parse_plain_number(*value)) {
        reading_.limit = number->floor();
        return;
      }
    }
    ignore_field("limit", read.error());
  }

  void remaining() {
    const auto value = field("remaining");
    if (!value) return;
    if (grammar_ == Grammar::draft) {
      const auto integer = read_integer(*value);
      if (integer) {
        reading_.remaining = *integer;
      } else {
        ignore_field("remaining", integer.error());
      }
    } else if (const auto number = parse_plain_number(*value)) {
      reading_.remaining = number->floor();
    } else {
      ignore_field("remaining", {no_number, 0});
    }
  }

  void used() {
    auto value = field("used");
    if (!value || value->empty()) value = field("observed");
    const auto number = value ? parse_plain_number(*value) : std::nullopt;
    if (!number) return;
    const std::uint64_t used = number->floor();
    if (reading_.limit && !reading_.remaining) {
      reading_.remaining = *reading_.limit - std::min(*reading_.limit, used);
    } else if (reading_.remaining && !reading_.limit) {
      reading_.limit = *reading_.remaining + used;
    }
  }

  void reset() {
    const auto after = field("reset-after");
    if (const auto seconds = after ? parse_plain_number(*after) : std::nullopt) {
      reading_.reset = ceil_seconds(seconds->billionths);
      return;
    }
    const auto value = field("reset");
    if (!value) return;
    std::string_view number = *value;
    std::string digits;
    if (grammar_ == Grammar::draft) {
      const auto integer = read_integer(*value);
      if (!integer) return ignore_field("reset", integer.error());
      digits = std::to_string(*integer);
      number = digits;
    }
    const Reset reset = parse_reset(number, base_);
    reading_.reset = reset.seconds;
    if (!reset.seconds) ignore_field("reset", {expected_of(reset), 0});
  }

  // The value of a field; std::nullopt unless it has exactly one line.
  std::optional<std::string_view> field(std::string_view name) {
    const std::string full = std::string(prefix_).append(name);
    const FieldValue value(headers_, full);
    if (value.lines() == 1) return value.text();
    if (value.lines() > 1) {
      const std::size_t second_line = value.first().size() + 1;
      ignore(ignored_, full, value, {"expected one line of this field", second_line});
    }
    return {};
  }

  void ignore_field(std::string_view name, const sf::Error& why) {
    const std::string full = std::string(prefix_).append(name);
    ignore(ignored_, full, FieldValue(headers_, full), why);
  }

  std::span<const HeaderLine> headers_;
  std::string_view prefix_;
  Grammar grammar_;
  std::optional<std::int64_t> base_;
  IgnoredList& ignored_;
  LimitFieldsReading reading_;
};

}  // namespace

LimitFieldsReading read_limit_fields(std::span<const HeaderLine> headers, std::string_view prefix,
                                     Grammar grammar, std::optional<std::int64_t> base,
                                     IgnoredList& ignored) {
  return LimitFieldsReader(headers, prefix, grammar, base, ignored).read();
}

Result<std::uint64_t, sf::Error> read_integer(std::string_view value) noexcept {
  sf::Reader reader(value);
  sf::RawItem item;
  reader.item_start();
  const std::size_t start = reader.offset();
  if (reader.bare_item(item)) {
    reader.skip_parameters();
    reader.item_end();
  }
  if (!reader.ok()) return Failure<sf::Error>(reader.error());
  if (item.type != sf::Type::integer || item.number < 0) {
    return Failure<sf::Error>({"expected an integer >= 0", start});
  }
  return static_cast<std::uint64_t>(item.number);
}

}  // namespace headgate::field
