// The output of `headgate simulate --decisions`.
#pragma once

#include <fstream>
#include <ostream>
#include <string>

#include "headgate/base/result.h"

namespace headgate::cli {

// Not thread-safe.
class DecisionsFile {
 public:
  // Opens nothing for "", standard output for "-". The error names the file.
  [[nodiscard]] Result<void, std::string> open(const std::string& path);

  // nullptr if no decisions are written.
  [[nodiscard]] std::ostream* stream() noexcept { return stream_; }
  // The stream for the summary: standard error if decisions go to standard output.
  [[nodiscard]] std::ostream& summary() const noexcept;

  [[nodiscard]] Result<void, std::string> close();

 private:
  std::string path_;
  std::ofstream file_;
  std::ostream* stream_ = nullptr;
};

}  // namespace headgate::cli
