#include "headgate/server/resp/info.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/server/resp/command.h"

namespace headgate::server {
namespace {

using Words = std::span<const std::string_view>;

// The version of Redis with the same protocol: clients choose their commands by it.
constexpr std::string_view like_redis = "7.0.0";

class Info {
 public:
  explicit Info(Words sections) : sections_(sections) {}

  enum class Shown { by_default, by_name };

  // Returns whether this section was requested; if so, writes its head, and its lines follow.
  bool section(std::string_view name, Shown how = Shown::by_default) {
    const auto means_it = [&](std::string_view given) {
      return equal_ignoring_case(given, name) || equal_ignoring_case(given, "all") ||
             equal_ignoring_case(given, "everything") ||
             (equal_ignoring_case(given, "default") && how == Shown::by_default);
    };
    const bool wanted = sections_.empty()
                            ? how == Shown::by_default
                            : std::any_of(sections_.begin(), sections_.end(), means_it);
    if (!wanted) return false;
    if (!text_.empty()) text_ += "\r\n";
    text_.append("# ").append(name).append("\r\n");
    return true;
  }
  void line(std::string_view name, std::string_view value) {
    text_.append(name).append(":").append(value).append("\r\n");
  }
  void line(std::string_view name, std::uint64_t value) { line(name, std::to_string(value)); }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  Words sections_;
  std::string text_;
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> settings = {
    {{"appendonly", "no"}, {"databases", "1"}, {"maxmemory-policy", "noeviction"}, {"save", ""}}};

}  // namespace

void answer_info(Words call, RespDoorContext& door, net::RespWriter& out) {
  Info info(call.subspan(1));
  if (info.section("Server")) {
    const auto up = std::chrono::steady_clock::now() - door.since;
    info.line("redis_version", like_redis);
    info.line("headgate_version", HEADGATE_VERSION);
    info.line("redis_mode", "standalone");
    info.line("process_id", static_cast<std::uint64_t>(getpid()));
    info.line(
        "uptime_in_seconds",
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(up).count()));
  }
  if (info.section("Persistence")) info.line("loading", "0");
  if (info.section("Replication")) info.line("role", "master");
  // Not by default: table().stats() takes a millisecond, and client libraries send a plain INFO.
  if (info.section("Headgate", Info::Shown::by_name)) {
    const store::TableStats stats = door.worker.engine().table().stats();
    info.line("policies", door.worker.in_force().policies().policies().size());
    info.line("table_bytes", stats.memory);
    info.line("table_cells", stats.cells());
    info.line("table_live", stats.live());
    info.line("table_unkept", stats.unkept);
  }
  out.bulk(info.text());
}

void answer_config(Words call, net::RespWriter& out) {
  if (!equal_ignoring_case(call[1], "get") || call.size() < 3) {
    return out.error("ERR headgate is configured by its policy file; expected CONFIG GET name");
  }
  const auto requested = [&](const auto& setting) {
    return std::any_of(call.begin() + 2, call.end(), [&](std::string_view name) {
      return name == "*" || equal_ignoring_case(name, setting.first);
    });
  };
  out.map(static_cast<std::size_t>(std::count_if(settings.begin(), settings.end(), requested)));
  for (const auto& setting : settings) {
    if (!requested(setting)) continue;
    out.bulk(setting.first);
    out.bulk(setting.second);
  }
}

}  // namespace headgate::server
