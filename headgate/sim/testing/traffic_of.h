// Traffic from lines of a form that is easy to write in tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "headgate/sim/log/traffic.h"

namespace headgate::sim {

// Reads lines such as "12 5 10.0.0.1 host=a bytes=100 x-plan=gold": the time at which the line was
// written and the duration [s], the client, then optional parts. Any other line is refused.
class PlainReader final : public LineReader {
 public:
  explicit PlainReader(std::vector<WantedHeader> wanted) : wanted_(std::move(wanted)) {}

  [[nodiscard]] std::string_view read(std::string_view line, LogEntry& entry) override {
    constexpr std::int64_t second = 1'000'000'000;
    std::istringstream in{std::string(line)};
    std::string client;
    entry = {};
    parts_.clear();
    if (!(in >> entry.at >> entry.took >> client)) return "expected a time, a duration, a client";
    entry.at *= second;
    entry.took *= second;
    entry.peer = policy::Address::parse(client);
    entry.method = "GET";
    entry.target = "/";
    entry.status = 200;
    for (std::string part; in >> part;) {
      const std::size_t equals = part.find('=');
      parts_[part.substr(0, equals)] = part.substr(equals + 1);
    }
    for (const auto& [name, value] : parts_) {
      if (name == "host") entry.host = value;
      if (name == "bytes") entry.request_bytes = std::stoull(value);
      for (std::size_t i = 0; i < wanted_.size(); ++i) {
        if (wanted_[i].name == name) entry.headers[i] = value;
      }
    }
    return {};
  }

 private:
  std::vector<WantedHeader> wanted_;
  std::map<std::string, std::string> parts_;  // the entry has views of the values
};

// Reads `text` as one log, called "log", and checks that it is read to its end.
inline void read_log(
    Traffic& traffic, const std::string& text, const Complain& complain = [](auto&) {},
    const Traffic::OnSkip& on_skip = [](auto, auto) { return Result<void, std::string>(); }) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("headgate-traffic-" + std::to_string(getpid()));
  std::ofstream(path) << text;
  auto lines = Lines::open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(lines) << lines.error();
  PlainReader reader(traffic.layout().headers);
  const auto read = traffic.read(*lines, reader, "log", complain, on_skip, [](const Source&) {});
  ASSERT_TRUE(read) << read.error();
}

}  // namespace headgate::sim
