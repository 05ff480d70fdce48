#include "headgate/cli/explain/view_json.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/json_text.h"
#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

std::string json_string(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

std::string json(const std::optional<std::string>& text) {
  return text ? json_string(*text) : "null";
}

std::string json(const std::optional<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "null";
}

std::string json(const field::Member& member) {
  const auto pk = member.pk ? std::optional(base64(*member.pk)) : std::nullopt;
  return "{\"policy\": " + json(member.policy) + ", \"q\": " + json(member.q) +
         ", \"qu\": " + json(member.unit) + ", \"w\": " + json(member.w) +
         ", \"r\": " + json(member.r) + ", \"t\": " + json(member.t) + ", \"pk\": " + json(pk) +
         '}';
}

template <class List, class Write>
std::string array(const List& list, Write write) {
  std::string out = "[";
  for (const auto& element : list) {
    if (out.size() > 1) out += ", ";
    out += write(element);
  }
  return out + ']';
}

}  // namespace

std::string view_json(const field::ResponseView& view) {
  return "{\"source\": " + json_string(name_of(view.source)) +
         ", \"members\": " + array(view.members, [](const auto& m) { return json(m); }) +
         ", \"retry_after\": " + json(view.retry_after) + ", \"ignored\": " +
         array(view.ignored, [](const auto& i) { return json_string(i.name); }) +
         ", \"cached\": " + (view.cached ? "true" : "false") + "}\n";
}

}  // namespace headgate::cli
