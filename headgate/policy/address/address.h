// An IP address, judged by its bits and not by its notation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::policy {

class Address {
 public:
  // IPv4 or IPv6 text, without port, brackets or zone. An IPv4-mapped IPv6 address
  // (::ffff:a.b.c.d) is that IPv4 address. std::nullopt for anything else.
  [[nodiscard]] static std::optional<Address> parse(std::string_view text) noexcept;

  // From network-order bytes, as sockaddr_in and sockaddr_in6 hold them.
  [[nodiscard]] static Address from_v4(const std::uint8_t (&bytes)[4]) noexcept;
  [[nodiscard]] static Address from_v6(const std::uint8_t (&bytes)[16]) noexcept;

  [[nodiscard]] bool is_v4() const noexcept { return v4_; }
  // Network order; of IPv4 the first four.
  [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] unsigned bits() const noexcept { return v4_ ? 32 : 128; }

  // The lowest address of this one's prefix: all bits after the first `prefix` cleared.
  [[nodiscard]] Address masked(unsigned prefix) const noexcept;

  // Canonical text (RFC 5952), with "/prefix" appended if prefix < bits(). Writes at most
  // text_max characters and returns how many; no allocation.
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
