#include "headgate/policy/match/host.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "headgate/base/ascii.h"
#include "headgate/policy/address/address.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

std::string_view without_final_dot(std::string_view host) noexcept {
  return host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
}

bool is_hexadecimal(std::string_view number) noexcept {
  return number.size() >= 2 && number[0] == '0' && lower(number[1]) == 'x';
}

bool is_number(std::string_view label) noexcept {
  if (label.empty() || !is_digit(label.front())) return false;
  if (!is_hexadecimal(label)) return std::all_of(label.begin(), label.end(), is_digit);
  return std::all_of(label.begin() + 2, label.end(), [](char c) { return hex_value(c) >= 0; });
}

// Whether URL parsers read an address in a host or refuse it.
bool may_be_address(std::string_view host) noexcept {
  return host.starts_with('[') || is_number(host.substr(host.rfind('.') + 1));
}

// Returns the value of a part of an IPv4 address: decimal, or hexadecimal behind a "0x", which
// alone is 0. What is above 32 bits is 1 << 32. A decimal part that begins with "0" is octal to
// some parsers and not to others, so that it names no address.
std::optional<std::uint64_t> read_part(std::string_view text) noexcept {
  constexpr std::uint64_t above = std::uint64_t{1} << 32;
  if (text.empty()) return std::nullopt;
  unsigned base = 10;
  if (is_hexadecimal(text)) {
    base = 16;
    text.remove_prefix(2);
  } else if (text[0] == '0' && text.size() > 1) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (const char c : text) {
    const int digit = hex_value(c);
    if (digit < 0 || static_cast<unsigned>(digit) >= base) return std::nullopt;
    value = std::min(value * base + static_cast<unsigned>(digit), above);
  }
  return value;
}

// Reads one to four parts, of which the last one has all bits that are left.
std::optional<Address> read_v4(std::string_view host) noexcept {
  std::uint64_t bits = 0;
  for (unsigned left = 32; left > 0;) {
    const std::size_t dot = host.find('.');
    const bool is_last = dot == host.npos;
    const auto part = read_part(host.substr(0, dot));
    const unsigned width = is_last ? left : 8;
    if (!part || *part >> width != 0) return std::nullopt;
    left -= width;
    bits |= *part << left;
    if (!is_last) {
      host.remove_prefix(dot + 1);
      continue;
    }
    std::uint8_t bytes[4];
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(bits >> 24);
      bits <<= 8;
    }
    return Address::from_v4(bytes);
  }
  return std::nullopt;  // a fifth part
}

std::optional<Address> read_address(std::string_view host) noexcept {
  if (!host.starts_with('[')) return read_v4(host);
  if (!host.ends_with(']') || host.find(':') == host.npos) return std::nullopt;
  return Address::parse(host.substr(1, host.size() - 2));
}

void append_address(const Address& address, std::string& out) {
  char text[Address::text_max];
  const std::string_view written(text, address.write(text, address.bits()));
  if (!address.is_v4()) out.push_back('[');
  out.append(written);
  if (!address.is_v4()) out.push_back(']');
}

}  // namespace

void append_host(std::string_view host, std::string& out) {
  if (!is_host(host)) {
    out.append(malformed_host);
    return;
  }
  host = without_final_dot(host);
  if (!may_be_address(host)) {
    const auto begin = static_cast<std::ptrdiff_t>(out.size());
    out.append(host);
    std::transform(out.begin() + begin, out.end(), out.begin() + begin, lower);
  } else if (const auto address = read_address(host)) {
    append_address(*address, out);
  } else {
    out.append(malformed_host);
  }
}

std::string host_pattern(std::string_view pattern) {
  const auto address = may_be_address(pattern) ? read_address(pattern) : std::nullopt;
  if (!address) return lowered(pattern);
  std::string out;
  append_address(*address, out);
  return out;
}

bool is_same_text(std::string_view host, std::string_view other) noexcept {
  return equal_ignoring_case(without_final_dot(host), without_final_dot(other));
}

}  // namespace headgate::policy
