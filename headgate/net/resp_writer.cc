#include "headgate/net/resp_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace headgate::net {
namespace {

constexpr std::size_t number_max = 1 + 20 + 2;  // type, sign and digits of 64 bits, CR LF

// One digit, the most frequent case, is written without to_chars(); `./dev bench` shows it as
// CL.THROTTLE's rate.
char* put_number(char* at, char type, std::int64_t value) noexcept {
  *at++ = type;
  if (value >= 0 && value < 10) {
    *at++ = static_cast<char>('0' + value);
  } else {
    at = std::to_chars(at, at + 20, value).ptr;
  }
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

}  // namespace

void RespWriter::simple(std::string_view text) { line('+', text); }

void RespWriter::error(std::string_view text) { line('-', text); }

void RespWriter::line(char type, std::string_view text) {
  out_ += type;
  for (const char c : text) out_ += c == '\r' || c == '\n' ? ' ' : c;
  out_ += "\r\n";
}

void RespWriter::number(char type, std::int64_t value) {
  std::array<char, number_max> text;
  out_.append(text.data(), put_number(text.data(), type, value));
}

void RespWriter::integers(std::span<const std::int64_t> values) {
  // Appends once per 8 integers: CL.THROTTLE replies with 5.
  constexpr std::size_t at_once = 8;
  array(values.size());
  while (!values.empty()) {
    std::array<char, at_once * number_max> text;
    char* at = text.data();
    const auto some = values.first(std::min(values.size(), at_once));
    for (const std::int64_t value : some) at = put_number(at, ':', value);
    out_.append(text.data(), at);
    values = values.subspan(some.size());
  }
}

void RespWriter::command(std::span<const std::string_view> words) {
  array(words.size());
  for (const std::string_view word : words) bulk(word);
}

void RespWriter::bulk(std::string_view text) {
  number('$', static_cast<std::int64_t>(text.size()));
  out_ += text;
  out_ += "\r\n";
}

void RespWriter::real(double value) {
  std::array<char, 32> room;  // the shortest exact text of a double has at most 24 characters
  std::string_view text;
  if (std::isnan(value)) {
    text = "nan";
  } else if (std::isinf(value)) {
    text = value > 0 ? "inf" : "-inf";
  } else {
    const char* end = std::to_chars(room.data(), room.data() + room.size(), value).ptr;
    text = {room.data(), static_cast<std::size_t>(end - room.data())};
  }
  if (version_ == RespVersion::resp2) return bulk(text);
  line(',', text);
}

void RespWriter::null() { out_ += version_ == RespVersion::resp2 ? "$-1\r\n" : "_\r\n"; }

void RespWriter::aggregate(char type, std::size_t values, std::size_t each) {
  if (version_ == RespVersion::resp2) return array(values * each);
  number(type, static_cast<std::int64_t>(values));
}

}  // namespace headgate::net
