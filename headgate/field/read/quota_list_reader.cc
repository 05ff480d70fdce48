#include "headgate/field/read/quota_list_reader.h"

#include <utility>

#include "headgate/field/sf/reader.h"

namespace headgate::field {
namespace {

constexpr const char* no_quota = "expected a quota, which is an integer >= 0";

struct Quota {
  std::uint64_t q = 0;
  bool windowed = false;
  std::uint64_t w = 0;
};

// Reads the next member.
Result<Quota, sf::Error> read_quota(sf::Reader& reader) noexcept {
  const std::size_t start = reader.offset();
  if (reader.at_inner_list()) return Failure<sf::Error>({no_quota, start});
  sf::RawItem quota;
  if (!reader.bare_item(quota)) return Failure<sf::Error>(reader.error());

  sf::RawParameter parameter;
  sf::RawItem window;
  std::optional<std::size_t> window_offset;
  while (reader.parameter(parameter)) {
    if (parameter.key != "w") continue;
    window = parameter.value;
    window_offset = reader.offset_of(parameter.key);
  }
  if (!reader.ok()) return Failure<sf::Error>(reader.error());
  if (quota.type != sf::Type::integer || quota.number < 0) {
    return Failure<sf::Error>({no_quota, start});
  }
  if (window_offset && (window.type != sf::Type::integer || window.number < 0)) {
    return Failure<sf::Error>({"expected an integer >= 0 as w", *window_offset});
  }
  return Quota{static_cast<std::uint64_t>(quota.number), window_offset.has_value(),
               static_cast<std::uint64_t>(window.number)};
}

enum class First : std::uint8_t { needs_window, may_stand_alone };

Result<LimitInForce, sf::Error> read_quotas(std::string_view value, First first) {
  LimitInForce limit;
  sf::Reader reader(value);
  if (!reader.first_member()) return Failure<sf::Error>({no_quota, reader.offset()});
  bool at_first = true;
  do {
    const std::size_t start = reader.offset();
    const auto quota = read_quota(reader);
    if (!quota) return Failure<sf::Error>(quota.error());
    if (at_first) limit.q = quota->q;
    if (quota->windowed) {
      limit.policies.push_back({quota->q, quota->w > 0 ? std::optional(quota->w) : std::nullopt});
    } else if (!at_first || first == First::needs_window) {
      return Failure<sf::Error>({"expected the parameter w of a quota policy", start});
    }
    at_first = false;
  } while (reader.next_member());
  if (!reader.ok()) return Failure<sf::Error>(reader.error());
  return limit;
}

}  // namespace

Result<std::vector<QuotaPolicy>, sf::Error> read_quota_policies(std::string_view value) {
  auto quotas = read_quotas(value, First::needs_window);
  if (!quotas) return Failure<sf::Error>(quotas.error());
  return std::move(quotas->policies);
}

Result<LimitInForce, sf::Error> read_limit_in_force(std::string_view value) {
  return read_quotas(value, First::may_stand_alone);
}

}  // namespace headgate::field
