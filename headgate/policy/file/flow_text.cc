#include "headgate/policy/file/flow_text.h"

#include <string_view>

namespace headgate::policy {
namespace {

void append_scalar(const std::string& text, std::string& out) {
  const bool plain = !text.empty() &&
                     text.find_first_of(",[]{}#&!|>'\"%@`\\ \t\r\n") == std::string::npos &&
                     text.find_first_not_of("*?-:") != std::string::npos;
  if (plain) {
    out += text;
    return;
  }
  out.push_back('\'');
  for (const char c : text) {
    if (c == '\'') out.push_back('\'');
    out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  out.push_back('\'');
}

void append_flow(const yaml::Node& node, std::string& out) {
  if (out.size() > flow_text_max) return;
  if (node.kind != yaml::Kind::list && node.kind != yaml::Kind::map) {
    append_scalar(node.text, out);
    return;
  }
  const bool map = node.kind == yaml::Kind::map;
  out.push_back(map ? '{' : '[');
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) out += map && i % 2 == 1 ? ": " : ", ";
    append_flow(*node.children[i], out);
  }
  out.push_back(map ? '}' : ']');
}

}  // namespace

std::string flow_text(const yaml::Node& node) {
  std::string out;
  append_flow(node, out);
  if (out.size() > flow_text_max) {
    out.resize(flow_text_max);
    out += "...";
  }
  return out;
}

}  // namespace headgate::policy
