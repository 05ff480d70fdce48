// A response of a server's /v1/top.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"

namespace headgate::cli {

struct TopReading {
  struct Row {
    std::string policy;  // printable ASCII, as all texts here
    std::string key;
    double per_second = 0;  // lower bound
    double at_most_per_second = 0;
    double also = 0;  // [1/s] busiest: units; most denied: denials in shadow mode
    // The policy has one partition for all clients; otherwise a request with an empty key does not
    // have what keys are made from. Set by TopSource.
    bool everyone = false;
  };

  struct Redis {
    bool up = false;
    double decisions_without_it_per_second = 0;
  };

  bool plain_keys = false;
  double requests_per_second = 0;
  double denied_per_second = 0;
  double shadow_denied_per_second = 0;
  std::optional<Redis> redis;  // of a server whose limits are shared
  std::vector<Row> busiest;
  std::vector<Row> most_denied;
  std::vector<std::string> policies{};  // those of which the lists are; empty: all

  // Reads the body of a response. The error says what is missing or wrong.
  [[nodiscard]] static Result<TopReading, std::string> parse(std::string_view json);
};

}  // namespace headgate::cli
