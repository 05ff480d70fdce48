#include "headgate/policy/address/address.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>

namespace headgate::policy {
namespace {

// Of IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2).
constexpr std::uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// A decimal number without sign or leading zeros, at most `max`.
std::optional<unsigned> small_decimal(std::string_view text, unsigned max) noexcept {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  if (value > max) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Address> Address::parse(std::string_view text) noexcept {
  // inet_pton() reads up to a NUL, which a view need not have, so the text is copied.
  // INET6_ADDRSTRLEN has room for the longest address of either family and the NUL.
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  text.copy(terminated, text.size());
  terminated[text.size()] = '\0';
  if (text.find(':') == std::string_view::npos) {
    std::uint8_t bytes[4];
    if (inet_pton(AF_INET, terminated, bytes) != 1) return std::nullopt;
    return from_v4(bytes);
  }
  std::uint8_t bytes[16];
  if (inet_pton(AF_INET6, terminated, bytes) != 1) return std::nullopt;
  return from_v6(bytes);
}

Address Address::from_v4(const std::uint8_t (&bytes)[4]) noexcept {
  Address address;
  std::memcpy(address.bytes_.data(), bytes, 4);
  address.v4_ = true;
  return address;
}

Address Address::from_v6(const std::uint8_t (&bytes)[16]) noexcept {
  Address address;
  if (std::memcmp(bytes, mapped_prefix, sizeof mapped_prefix) == 0) {
    std::memcpy(address.bytes_.data(), bytes + 12, 4);
    address.v4_ = true;
  } else {
    std::memcpy(address.bytes_.data(), bytes, 16);
  }
  return address;
}

Address Address::masked(unsigned prefix) const noexcept {
  Address result = *this;
  for (std::size_t i = prefix / 8; i < bits() / 8; ++i) {
    const unsigned kept = i == prefix / 8 ? prefix % 8 : 0;
    result.bytes_[i] = static_cast<std::uint8_t>(result.bytes_[i] & (0xff00u >> kept));
  }
  return result;
}

std::size_t Address::write(char* out, unsigned prefix) const noexcept {
  char* const end = out + text_max;
  char* at = out;
  if (v4_) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (i > 0) *at++ = '.';
      at = std::to_chars(at, end, bytes_[i]).ptr;
    }
  } else {
    unsigned groups[8];
    for (std::size_t i = 0; i < 8; ++i) {
      groups[i] = static_cast<unsigned>(bytes_[2 * i]) << 8 | bytes_[2 * i + 1];
    }
    // The first of the longest runs of two or more zero groups becomes "::".
    std::size_t gap = 8;
    std::size_t gap_length = 1;
    for (std::size_t i = 0; i < 8; ++i) {
      std::size_t length = 0;
      while (i + length < 8 && groups[i + length] == 0) ++length;
      if (length > gap_length) {
        gap = i;
        gap_length = length;
      }
      i += length;
    }
    for (std::size_t i = 0; i < 8; ++i) {
      if (i == gap) {
        *at++ = ':';
        *at++ = ':';
        i += gap_length - 1;
        continue;
      }
      if (i > 0 && i != gap + gap_length) *at++ = ':';
      at = std::to_chars(at, end, groups[i], 16).ptr;
    }
  }
  if (prefix < bits()) {
    *at++ = '/';
    at = std::to_chars(at, end, prefix).ptr;
  }
  return static_cast<std::size_t>(at - out);
}

std::optional<AddressBlock> AddressBlock::parse(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  const std::string_view address_text = text.substr(0, slash);
  const auto address = Address::parse(address_text);
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return AddressBlock{*address, address->bits()};
  // An IPv4-mapped address counts its prefix from the first of 128 bits.
  const bool mapped = address->is_v4() && address_text.find(':') != std::string_view::npos;
  const unsigned before = mapped ? 96 : 0;
  const auto prefix = small_decimal(text.substr(slash + 1), before + address->bits());
  if (!prefix || *prefix < before) return std::nullopt;
  return AddressBlock{address->masked(*prefix - before), *prefix - before};
}

bool AddressBlock::contains(const Address& address) const noexcept {
  return address.is_v4() == lowest.is_v4() && address.masked(prefix) == lowest;
}

}  // namespace headgate::policy
