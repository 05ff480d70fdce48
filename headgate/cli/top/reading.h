// What a server says at /v1/top.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"

namespace headgate::cli {

struct TopReading {
  struct Row {
    std::string policy;  // printable ASCII, as all texts here
    std::string key;
    double per_second = 0;  // at least
    double at_most_per_second = 0;
    double also = 0;  // of the busiest, units; of the most denied, those in shadow mode [1/s]
  };

  bool plain_keys = false;
  double decisions_per_second = 0;
  double denied_per_second = 0;
  double shadow_denied_per_second = 0;
  std::vector<Row> busiest;
  std::vector<Row> most_denied;

  // From the body of a response. Errors: what is not as it should be.
  [[nodiscard]] static Result<TopReading, std::string> parse(std::string_view json);
};

}  // namespace headgate::cli
