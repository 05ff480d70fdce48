// The formats of what is replayed, and which of them a file has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/sim/log/json_reader.h"
#include "headgate/sim/log/line_reader.h"

namespace headgate::sim {

enum class LogFormat : std::uint8_t { combined, common, json, trace };

// "combined", "common", "json" or "trace".
[[nodiscard]] std::optional<LogFormat> log_format_of(std::string_view name) noexcept;

// The format of the first line of `head`, the file's beginning, that can be read in any. If there
// is none, the one that comes nearest, so that its reader says what is wrong.
[[nodiscard]] LogFormat detect(std::string_view head, const FieldNames& names);

// Of an access log: any format but trace.
[[nodiscard]] std::unique_ptr<LineReader> make_reader(LogFormat format, const FieldNames& names,
                                                      std::span<const WantedHeader> wanted);

}  // namespace headgate::sim
