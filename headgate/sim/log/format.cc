#include "headgate/sim/log/format.h"

#include <algorithm>

#include "headgate/sim/log/clf_reader.h"
#include "headgate/sim/log/envoy_reader.h"
#include "headgate/sim/log/haproxy_reader.h"
#include "headgate/sim/trace.h"

namespace headgate::sim {
namespace {

// How many lines are tried to detect a format, more than a header or a few broken lines, and how
// long a line may be for that: more than usual servers allow for a request line and headers.
constexpr std::size_t lines_tried_max = 64;
constexpr std::size_t line_tried_max = std::size_t{1} << 14;  // [bytes]

}  // namespace

std::optional<LogFormat> log_format_of(std::string_view name) noexcept {
  if (name == "combined") return LogFormat::combined;
  if (name == "common") return LogFormat::common;
  if (name == "envoy") return LogFormat::envoy;
  if (name == "haproxy") return LogFormat::haproxy;
  if (name == "json") return LogFormat::json;
  if (name == "trace") return LogFormat::trace;
  return std::nullopt;
}

LogFormat detect(std::string_view head, const FieldNames& names) {
  ClfReader combined(ClfForm::combined, {});
  ClfReader common(ClfForm::common, {});
  EnvoyReader envoy({});
  HaproxyReader haproxy;
  std::optional<JsonReader> json;  // also says whether there was a line of it
  LogEntry entry;
  for (std::size_t i = 0; i < lines_tried_max && !head.empty(); ++i) {
    std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > line_tried_max) continue;
    const std::size_t text = line.find_first_not_of(" \t");
    if (text != line.npos && line[text] == '{') {
      if (parse_trace_line(line)) return LogFormat::trace;
      if (!json) json.emplace(names, std::span<const WantedHeader>{});
      if (json->read(line, entry).empty()) return LogFormat::json;
    } else if (combined.read(line, entry).empty()) {
      return LogFormat::combined;
    } else if (common.read(line, entry).empty()) {
      return LogFormat::common;
    } else if (envoy.read(line, entry).empty()) {
      return LogFormat::envoy;
    } else if (haproxy.read(line, entry).empty()) {
      return LogFormat::haproxy;
    }
  }
  return json ? LogFormat::json : LogFormat::combined;
}

std::unique_ptr<LineReader> make_reader(LogFormat format, const FieldNames& names,
                                        std::span<const WantedHeader> wanted) {
  if (format == LogFormat::json) return std::make_unique<JsonReader>(names, wanted);
  if (format == LogFormat::envoy) return std::make_unique<EnvoyReader>(wanted);
  if (format == LogFormat::haproxy) return std::make_unique<HaproxyReader>();
  return std::make_unique<ClfReader>(
      format == LogFormat::common ? ClfForm::common : ClfForm::combined, wanted);
}

}  // namespace headgate::sim
