// The formats of replayed files, and the detection of a file's format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/sim/log/json_reader.h"
#include "headgate/sim/log/line_reader.h"

namespace headgate::sim {

enum class LogFormat : std::uint8_t { combined, common, envoy, haproxy, json, trace };

// The names are those of the enumerators.
[[nodiscard]] std::optional<LogFormat> log_format_of(std::string_view name) noexcept;

// Returns the format of the first readable line of `head`, the beginning of the file. If no line is
// readable, returns the most similar format, so that its reader reports what is wrong.
[[nodiscard]] LogFormat detect(std::string_view head, const FieldNames& names);

// Whether it is a format of access logs: any but trace.
[[nodiscard]] std::unique_ptr<LineReader> make_reader(LogFormat format, const FieldNames& names,
                                                      std::span<const WantedHeader> wanted);

}  // namespace headgate::sim
