#include "headgate/base/json_text.h"

#include <cstdint>

#include "headgate/base/hex.h"
#include "headgate/base/utf8.h"

namespace headgate {
namespace {

// Writes one byte inside a string. Control characters and bytes above 0x7e become \u00xx.
template <class Out>
void put_byte(Out& out, char c) {
  if (c < 0x20 || c > 0x7e) {
    out.put("\\u00");
    return put_hex(out, c);
  }
  if (c == '"' || c == '\\') out.put('\\');
  out.put(c);
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  const bool utf8 = is_utf8(text);
  Appender appender{out};
  out.push_back('"');
  for (const char c : text) {
    if (static_cast<std::uint8_t>(c) < 0x80) {
      put_byte(appender, c);
    } else if (utf8) {
      out.push_back(c);
    } else {
      out.append("\\ufffd");
    }
  }
  out.push_back('"');
}

// Writes the last 18 digits apart: they fit into 64 bits.
void append_json(std::string& out, Nanos span) {
  constexpr Nanos chunk = 1'000'000'000'000'000'000;  // 10^18 < 2^63
  if (span < chunk) return append_json(out, static_cast<std::uint64_t>(span));
  append_json(out, span / chunk);
  const std::size_t end = out.size() + 18;
  std::string low;
  append_json(low, static_cast<std::uint64_t>(span % chunk));
  out.append(end - out.size() - low.size(), '0').append(low);
}

void write_json_bytes(Writer& out, std::string_view bytes) noexcept {
  out.put('"');
  for (const char c : bytes) put_byte(out, c);
  out.put('"');
}

}  // namespace headgate
