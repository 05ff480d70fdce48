// The faults and warnings of a policy file, and their collection while the file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headgate::policy {

// One thing wrong in a policy file.
struct Fault {
  std::string file;
  std::size_t line = 0;    // from 1; 0: the file as a whole
  std::size_t column = 0;  // from 1
  std::string what;        // what is wrong, and what was expected

  // "FILE:LINE:COLUMN: what", or "FILE: what" where there is no position.
  [[nodiscard]] std::string text() const;
};

// A position in a file. Both count from 1; columns count bytes.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class Faults {
 public:
  // More than a person reads; bounds the output for a large file that is wrong in every line.
  static constexpr std::size_t listed_max = 1000;

  explicit Faults(std::string file) : file_(std::move(file)) {}

  // `what`: what is wrong, and what was expected. Position {} stands for the file as a whole.
  void add(Position at, std::string what);
  [[nodiscard]] bool empty() const noexcept { return faults_.empty(); }
  // Whether there are more than are listed: what takes time to find out for a fault can be left
  // out.
  [[nodiscard]] bool has_enough() const noexcept { return faults_.size() >= listed_max; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  // A warning is no fault: the file is read, and a part of it has no effect.
  void warn(Position at, std::string what);
  // Returns the warnings in the order in which they were found. Call it once, at the end.
  [[nodiscard]] std::vector<Fault> take_warnings() noexcept { return std::move(warnings_); }

  // Returns the faults in order of position and without duplicates: a fault in a node that YAML
  // aliases repeat is listed once. At most listed_max faults are listed; one more fault then states
  // how many were left out. Call it once, at the end.
  [[nodiscard]] std::vector<Fault> take();

 private:
  std::string file_;
  std::vector<Fault> faults_;
  std::vector<Fault> warnings_;
};

}  // namespace headgate::policy
