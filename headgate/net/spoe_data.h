// The data types of HAProxy's Stream Processing Offload Protocol: numbers, strings, typed values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::net {

enum class SpoeType : std::uint8_t {
  null,
  boolean,
  int32,
  uint32,
  int64,
  uint64,
  ipv4,
  ipv6,
  string,
  binary,
};

struct SpoeValue {
  SpoeType type = SpoeType::null;
  std::uint64_t number = 0;  // of booleans and integers; a negative one in two's complement
  std::string_view bytes{};  // of addresses, in network order, strings and binaries

  [[nodiscard]] bool is_integer() const noexcept {
    return type >= SpoeType::int32 && type <= SpoeType::uint64;
  }
};

// Reads data one after the other. A function that returns std::nullopt found malformed or cut data;
// then nothing further can be read. What is returned are views of the bytes.
class SpoeCursor {
 public:
  explicit SpoeCursor(std::string_view bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

  [[nodiscard]] std::optional<std::uint8_t> byte() noexcept;
  [[nodiscard]] std::optional<std::uint64_t> varint() noexcept;
  [[nodiscard]] std::optional<std::string_view> bytes(std::uint64_t size) noexcept;
  [[nodiscard]] std::optional<std::string_view> text() noexcept;  // after its length
  [[nodiscard]] std::optional<SpoeValue> value() noexcept;

 private:
  std::string_view rest_;
};

// Append to `out`. Throw std::bad_alloc.
void append_spoe_varint(std::string& out, std::uint64_t number);
void append_spoe_text(std::string& out, std::string_view text);
void append_spoe_value(std::string& out, const SpoeValue& value);

}  // namespace headgate::net
