#include "headgate/sim/report/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "headgate/base/hex.h"

namespace headgate::sim {
namespace {

struct Unit {
  const char* name;
  Nanos ns;
};

constexpr std::array<Unit, 7> units{{{"d", 86'400 * nanos_per_second},
                                     {"h", 3'600 * nanos_per_second},
                                     {"min", 60 * nanos_per_second},
                                     {"s", nanos_per_second},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto number = static_cast<double>(bytes);
  std::size_t name = 0;
  for (; number >= 1024 && name + 1 < names.size(); ++name) number /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", number == std::floor(number) ? 0 : 1, number,
                names[name]);
  return text;
}

bool is_bytes(std::string_view unit) { return unit == "content-bytes"; }

std::string amount(std::uint64_t number, const std::string& unit) {
  return is_bytes(unit) ? bytes_text(number) : grouped(number) + ' ' + unit;
}

std::string percent(std::uint64_t part, std::uint64_t all) {
  if (part == 0 || all == 0) return "0 %";
  if (part >= all) return "100 %";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(all);
  char text[32];
  const int decimals = share < 0.995 || share > 99.0 ? 2 : 1;
  std::snprintf(text, sizeof text, "%.*f %%", decimals, std::clamp(share, 0.01, 99.99));
  return text;
}

std::string duration_text(Nanos span) {
  if (span <= 0) return "0 s";
  std::string text;
  for (const Unit& unit : units) {
    if (span < unit.ns) {
      if (!text.empty()) break;
      continue;
    }
    const bool first = text.empty();
    text.append(first ? "" : " ")
        .append(std::to_string(static_cast<std::uint64_t>(span / unit.ns)))
        .append(" ")
        .append(unit.name);
    span %= unit.ns;
    if (!first) break;
  }
  return text;
}

std::string date_text(Instant at, std::string_view otherwise) {
  const Nanos seconds = floor_div(at.ns, nanos_per_second);
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (time != seconds || gmtime_r(&time, &parts) == nullptr || parts.tm_year > 9999 - 1900) {
    return std::string(otherwise);
  }
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text, size};
}

std::string printed(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text) {
    append_printable(out, c);
    if (out.size() <= most) continue;
    out.resize(most - std::min<std::size_t>(most, 3));
    return out + "...";
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    append_printable(out, c);
  }
  out.push_back('"');
  return out;
}

}  // namespace headgate::sim
