// The options of `headgate simulate`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headgate::cli {

struct SimulateOptions {
  std::vector<std::string> configs;
  std::string format = "auto";
  std::vector<std::string> fields;  // of JSON: "time=ts"
  std::string decisions;
  std::string report;
  std::string plot;
  std::string memory_text = "256MiB";
  std::size_t memory = 0;  // parsed from memory_text [bytes]
  std::string policy;      // name for --compare and --suggest; empty: see find_policy()
  std::vector<std::string> compare;
  std::string suggest;
  bool json = false;
  std::vector<std::string> logs;
};

}  // namespace headgate::cli
