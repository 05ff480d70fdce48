#include "headgate/field/ratelimit.h"

#include <algorithm>

#include "headgate/base/instant.h"
#include "headgate/field/sf/write.h"

namespace headgate::field {
namespace {

// Inlined, so that the compiler writes a key of three bytes without a call;
// `build/release/bin/steps_bench` measures it.
[[gnu::always_inline]] inline void put_number(Writer& out, std::string_view key,
                                              std::uint64_t value) noexcept {
  out.put(key);
  out.put_decimal(std::min(value, field_integer_max));
}

void put_partition_key(Writer& out, std::optional<std::string_view> pk_bytes) noexcept {
  if (!pk_bytes) return;
  out.put(";pk=");
  sf::write_bytes(out, *pk_bytes);
}

// Calls bool write(); rewinds `out` unless it returned true and everything fitted.
template <class Write>
bool whole_or_nothing(Writer& out, Write write) noexcept {
  const Writer::Mark before = out.mark();
  if (write() && !out.overflow()) return true;
  out.rewind(before);
  return false;
}

}  // namespace

bool write_quoted_name(Writer& out, std::string_view name) noexcept {
  return whole_or_nothing(out, [&] { return sf::write_string(out, name); });
}

bool write_limit_parameters(Writer& out, std::uint64_t r, std::optional<std::uint64_t> t,
                            std::optional<std::string_view> pk_bytes) noexcept {
  return whole_or_nothing(out, [&] {
    put_number(out, ";r=", r);
    if (t) put_number(out, ";t=", *t);
    put_partition_key(out, pk_bytes);
    return true;
  });
}

bool write_limit_member(Writer& out, std::string_view name, std::uint64_t r,
                        std::optional<std::uint64_t> t,
                        std::optional<std::string_view> pk_bytes) noexcept {
  return whole_or_nothing(out, [&] {
    return sf::write_string(out, name) && write_limit_parameters(out, r, t, pk_bytes);
  });
}

bool write_policy_parameters(Writer& out, std::uint64_t q, std::string_view unit,
                             std::optional<std::uint64_t> w,
                             std::optional<std::string_view> pk_bytes) noexcept {
  return whole_or_nothing(out, [&] {
    put_number(out, ";q=", q);
    if (!is_default_unit(unit)) {
      out.put(";qu=");
      if (!sf::write_string(out, unit)) return false;
    }
    if (w == std::uint64_t{0}) return false;
    if (w) put_number(out, ";w=", *w);
    put_partition_key(out, pk_bytes);
    return true;
  });
}

bool write_policy_member(Writer& out, std::string_view name, std::uint64_t q, std::string_view unit,
                         std::optional<std::uint64_t> w,
                         std::optional<std::string_view> pk_bytes) noexcept {
  return whole_or_nothing(out, [&] {
    return sf::write_string(out, name) && write_policy_parameters(out, q, unit, w, pk_bytes);
  });
}

}  // namespace headgate::field
