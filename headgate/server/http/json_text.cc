#include "headgate/server/http/json_text.h"

#include <cstdint>

#include "headgate/field/utf8.h"

namespace headgate::server {

void append_json(std::string& out, std::string_view text) {
  const bool utf8 = field::is_utf8(text);
  out.push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte >= 0x80) {
      if (utf8) {
        out.push_back(c);
      } else {
        out.append("\\ufffd");
      }
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char digits[] = "0123456789abcdef";
      out.append("\\u00").append({digits[byte >> 4], digits[byte & 15]});
    } else {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void append_json(std::string& out, Nanos span) {
  constexpr Nanos chunk = 1'000'000'000'000'000'000;
  if (span < chunk) return append_json(out, static_cast<std::uint64_t>(span));
  append_json(out, span / chunk);
  const std::size_t end = out.size() + 18;
  std::string low;
  append_json(low, static_cast<std::uint64_t>(span % chunk));
  out.append(end - out.size() - low.size(), '0').append(low);
}

}  // namespace headgate::server
