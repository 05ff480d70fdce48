// IP addresses, compared by their bits, not by their text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::policy {

class Address {
 public:
  // Reads the texts that inet_pton() reads: IPv4 or IPv6 without port, brackets or zone. An
  // IPv4-mapped IPv6 address (::ffff:a.b.c.d) becomes that IPv4 address. Returns std::nullopt for
  // any other text. `text` needs no NUL. No allocation.
  [[nodiscard]] static std::optional<Address> parse(std::string_view text) noexcept;

  // From bytes in network order, as sockaddr_in and sockaddr_in6 have them.
  [[nodiscard]] static Address from_v4(const std::uint8_t (&bytes)[4]) noexcept;
  [[nodiscard]] static Address from_v6(const std::uint8_t (&bytes)[16]) noexcept;

  [[nodiscard]] bool is_v4() const noexcept { return v4_; }
  // In network order. An IPv4 address has the first four bytes, and zeros.
  [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] unsigned bits() const noexcept { return v4_ ? 32 : 128; }

  // The lowest address with the same first `prefix` bits: all others are cleared.
  [[nodiscard]] Address masked(unsigned prefix) const noexcept;

  // Writes the canonical text (RFC 5952), with "/prefix" appended if prefix < bits(), and returns
  // its length, at most text_max: 8 groups of 4 digits, 7 colons and "/127" are 43. No allocation.
  static constexpr std::size_t text_max = 44;
  std::size_t write(char* out, unsigned prefix) const noexcept;

  friend bool operator==(const Address&, const Address&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};  // IPv4 in the first four
  bool v4_ = false;
};

// A block of addresses: "10.0.0.0/8", "::1", "127.0.0.1".
struct AddressBlock {
  Address lowest;
  unsigned prefix = 0;

  [[nodiscard]] static std::optional<AddressBlock> parse(std::string_view text) noexcept;
  [[nodiscard]] bool contains(const Address&) const noexcept;
};

}  // namespace headgate::policy
