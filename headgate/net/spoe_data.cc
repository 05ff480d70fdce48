#include "headgate/net/spoe_data.h"

namespace headgate::net {
namespace {

// A number below this is one byte. Otherwise the first byte has its low four bits, and each
// following byte seven bits of what is left after the largest shorter number is subtracted.
constexpr std::uint64_t one_byte = 240;
constexpr std::uint64_t goes_on = 128;  // the bit of a following byte that is not the last

constexpr std::uint8_t type_mask = 0x0f;  // of the byte before a value; above it are flags
constexpr std::uint8_t true_flag = 0x10;

}  // namespace

std::optional<std::uint8_t> SpoeCursor::byte() noexcept {
  if (rest_.empty()) return std::nullopt;
  const auto first = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return first;
}

std::optional<std::uint64_t> SpoeCursor::varint() noexcept {
  const auto first = byte();
  if (!first || *first < one_byte) return first;
  std::uint64_t number = *first;
  for (unsigned shift = 4;; shift += 7) {
    const auto next = byte();
    if (!next) return std::nullopt;
    const std::uint64_t part = *next;
    if (shift >= 64 || part > (~std::uint64_t{0} - number) >> shift) return std::nullopt;
    number += part << shift;
    if (part < goes_on) return number;
  }
}

std::optional<std::string_view> SpoeCursor::bytes(std::uint64_t size) noexcept {
  if (size > rest_.size()) return std::nullopt;
  const std::string_view found = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return found;
}

std::optional<std::string_view> SpoeCursor::text() noexcept {
  const auto size = varint();
  return size ? bytes(*size) : std::nullopt;
}

std::optional<SpoeValue> SpoeCursor::value() noexcept {
  const auto head = byte();
  if (!head || (*head & type_mask) > static_cast<std::uint8_t>(SpoeType::binary)) {
    return std::nullopt;
  }
  SpoeValue value;
  value.type = static_cast<SpoeType>(*head & type_mask);
  const auto with_bytes = [&](std::optional<std::string_view> found) -> std::optional<SpoeValue> {
    if (!found) return std::nullopt;
    value.bytes = *found;
    return value;
  };
  switch (value.type) {
    case SpoeType::null:
      return value;
    case SpoeType::boolean:
      value.number = (*head & true_flag) != 0 ? 1 : 0;
      return value;
    case SpoeType::ipv4:
      return with_bytes(bytes(4));
    case SpoeType::ipv6:
      return with_bytes(bytes(16));
    case SpoeType::string:
    case SpoeType::binary:
      return with_bytes(text());
    case SpoeType::int32:
    case SpoeType::uint32:
    case SpoeType::int64:
    case SpoeType::uint64:
      break;
  }
  const auto number = varint();
  if (!number) return std::nullopt;
  value.number = *number;
  return value;
}

void append_spoe_varint(std::string& out, std::uint64_t number) {
  if (number < one_byte) {
    out.push_back(static_cast<char>(number));
    return;
  }
  out.push_back(static_cast<char>(number | one_byte));
  number = (number - one_byte) >> 4;
  for (; number >= goes_on; number = (number - goes_on) >> 7) {
    out.push_back(static_cast<char>(number | goes_on));
  }
  out.push_back(static_cast<char>(number));
}

void append_spoe_text(std::string& out, std::string_view text) {
  append_spoe_varint(out, text.size());
  out.append(text);
}

void append_spoe_value(std::string& out, const SpoeValue& value) {
  auto head = static_cast<std::uint8_t>(value.type);
  if (value.type == SpoeType::boolean && value.number != 0) head |= true_flag;
  out.push_back(static_cast<char>(head));
  if (value.is_integer()) {
    append_spoe_varint(out, value.number);
  } else if (value.type == SpoeType::string || value.type == SpoeType::binary) {
    append_spoe_text(out, value.bytes);
  } else {
    out.append(value.bytes);
  }
}

}  // namespace headgate::net
