// The file that `headgate simulate --decisions` asks for.
#pragma once

#include <fstream>
#include <ostream>
#include <string>

#include "headgate/base/result.h"

namespace headgate::cli {

// Not thread-safe.
class DecisionsFile {
 public:
  // "" is none, "-" is standard output. The error names the file.
  [[nodiscard]] Result<void, std::string> open(const std::string& path);

  // nullptr: nobody asked for one.
  [[nodiscard]] std::ostream* stream() noexcept { return stream_; }
  // Where the summary goes: decisions on standard output keep it for themselves.
  [[nodiscard]] std::ostream& summary() const noexcept;

  [[nodiscard]] Result<void, std::string> close();

 private:
  std::string path_;
  std::ofstream file_;
  std::ostream* stream_ = nullptr;
};

}  // namespace headgate::cli
