#include "headgate/server/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/base/json_text.h"

namespace headgate::server {
namespace {

// %J: the message as a JSON string.
class JsonText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    std::string text;
    append_json(text, std::string_view(message.payload.data(), message.payload.size()));
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return spdlog::details::make_unique<JsonText>();
  }
};

std::unique_ptr<spdlog::formatter> make_formatter(LogFormat format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonText>('J').set_pattern(
      format == LogFormat::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%J})"
                                : "%Y-%m-%dT%H:%M:%S.%eZ %-5l %v");
  return formatter;
}

}  // namespace

void start_log(LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>(
      "headgate", std::make_shared<spdlog::sinks::ostream_sink_mt>(std::cerr));
  logger->set_formatter(make_formatter(format));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

std::string warning_line(LogFormat format, std::string_view words) {
  spdlog::memory_buf_t line;
  make_formatter(format)->format({"headgate", spdlog::level::warn, words}, line);
  return {line.data(), line.size()};
}

}  // namespace headgate::server
