#include "headgate/net/spoe_hello.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "headgate/base/ascii.h"
#include "headgate/net/spoe_data.h"

namespace headgate::net {
namespace {

Failure<SpoeFault> fault(SpoeStatus status, std::string_view what) {
  return Failure<SpoeFault>(SpoeFault{status, what});
}

// Whether `matches(item)` for any item of a list such as "2.0, 1.5".
template <class Matches>
bool any_of_list(std::string_view list, Matches matches) noexcept {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (matches(trimmed(list.substr(0, comma)))) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<SpoeHello, SpoeFault> SpoeHello::read(const SpoeFrame& frame) noexcept {
  if (frame.type != SpoeFrameType::haproxy_hello) {
    return fault(SpoeStatus::invalid, "the first frame is not HAPROXY-HELLO");
  }
  if (frame.stream_id != 0 || frame.frame_id != 0) {
    return fault(SpoeStatus::invalid, "HAPROXY-HELLO: stream-id and frame-id are not 0");
  }
  std::optional<std::string_view> versions;
  std::optional<std::uint64_t> frame_max;
  std::optional<std::string_view> capabilities;
  SpoeHello hello;
  for (SpoeCursor cursor(frame.payload); !cursor.at_end();) {
    const auto name = cursor.text();
    const auto value = name ? cursor.value() : std::nullopt;
    if (!value) return fault(SpoeStatus::invalid, "HAPROXY-HELLO: malformed payload");
    bool is_well = true;
    if (*name == "supported-versions") {
      is_well = value->type == SpoeType::string;
      versions = value->bytes;
    } else if (*name == "max-frame-size") {
      is_well = value->is_integer();
      frame_max = value->number;
    } else if (*name == "capabilities") {
      is_well = value->type == SpoeType::string;
      capabilities = value->bytes;
    } else if (*name == "healthcheck") {
      is_well = value->type == SpoeType::boolean;
      hello.healthcheck = value->number != 0;
    }
    if (!is_well) return fault(SpoeStatus::invalid, "HAPROXY-HELLO: an item has a wrong type");
  }
  if (!versions) return fault(SpoeStatus::no_version, "expected supported-versions");
  if (!frame_max) return fault(SpoeStatus::no_frame_size, "expected max-frame-size");
  if (!capabilities) return fault(SpoeStatus::no_capabilities, "expected capabilities");
  if (!any_of_list(*versions, [](std::string_view item) { return item.starts_with("2."); })) {
    return fault(SpoeStatus::bad_version, "expected version 2.0");
  }
  if (*frame_max < spoe_frame_min) {
    return fault(SpoeStatus::bad_frame_size, "max-frame-size is less than 256");
  }
  hello.frame_max =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(*frame_max, ~std::uint32_t{0}));
  hello.pipelining =
      any_of_list(*capabilities, [](std::string_view item) { return item == "pipelining"; });
  return hello;
}

}  // namespace headgate::net
