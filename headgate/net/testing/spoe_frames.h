// Frames as HAProxy sends them, for tests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/net/spoe_data.h"
#include "headgate/net/spoe_frame.h"

namespace headgate::net {

inline std::string spoe_number(std::size_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
  return out;
}

inline std::string spoe_frame(SpoeFrameType type, std::uint32_t flags, std::uint64_t stream_id,
                              std::uint64_t frame_id, std::string_view payload) {
  std::string body(1, static_cast<char>(type));
  body += spoe_number(flags);
  append_spoe_varint(body, stream_id);
  append_spoe_varint(body, frame_id);
  body += payload;
  return spoe_number(body.size()) + body;
}

using SpoeItems = std::initializer_list<std::pair<std::string_view, SpoeValue>>;

inline SpoeValue spoe_text(std::string_view text) { return {SpoeType::string, 0, text}; }
inline SpoeValue spoe_binary(std::string_view bytes) { return {SpoeType::binary, 0, bytes}; }
inline SpoeValue spoe_integer(std::uint64_t number) { return {SpoeType::int64, number, {}}; }

// A list of names and values.
inline std::string spoe_items(SpoeItems items) {
  std::string out;
  for (const auto& [name, value] : items) {
    append_spoe_text(out, name);
    append_spoe_value(out, value);
  }
  return out;
}

inline std::string spoe_hello(std::uint32_t frame_max = 16380,
                              std::string_view capabilities = "pipelining,async") {
  return spoe_frame(SpoeFrameType::haproxy_hello, SpoeFrame::fin, 0, 0,
                    spoe_items({{"supported-versions", spoe_text("2.0")},
                                {"max-frame-size", {SpoeType::uint32, frame_max, {}}},
                                {"capabilities", spoe_text(capabilities)}}));
}

// A message of a NOTIFY frame.
inline std::string spoe_message(std::string_view name, SpoeItems arguments) {
  std::string out;
  append_spoe_text(out, name);
  out.push_back(static_cast<char>(arguments.size()));
  return out + spoe_items(arguments);
}

// What req.hdrs_bin writes.
inline std::string spoe_headers(
    std::initializer_list<std::pair<std::string_view, std::string_view>> lines) {
  std::string out;
  for (const auto& [name, value] : lines) {
    append_spoe_text(out, name);
    append_spoe_text(out, value);
  }
  return out + std::string(2, '\0');
}

}  // namespace headgate::net
