// Standard error of a process that must go on although nobody reads it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

namespace headgate::cli {

// Writes to a descriptor, and waits for a reader that stalls, but not for long. From then on lines
// are lost until it reads again; then a line says how many. Not thread-safe.
class PatientOutput : public std::streambuf {
 public:
  // Longer than usual readers pause. Meanwhile nginx waits, too, when the pipe of its log is full.
  static constexpr std::chrono::milliseconds usual_patience{1000};

  // Makes a line, with its end, of words.
  using MakeLine = std::function<std::string(const std::string& words)>;
  static std::string plain_line(const std::string& words) { return "headgate: " + words + '\n'; }

  // `fd` must stay open. `make_line` makes the line that says how many are lost.
  explicit PatientOutput(int fd, MakeLine make_line = plain_line,
                         std::chrono::milliseconds patience = usual_patience)
      : fd_(fd), make_line_(std::move(make_line)), patience_(patience) {}

 protected:
  // Takes one or several whole lines.
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type c) override;

 private:
  // Returns whether all was written.
  bool write(std::string_view text) noexcept;
  // Writes how many lines are lost, and returns whether that was written.
  bool write_gap();
  [[nodiscard]] bool takes_more() noexcept;

  int fd_;
  MakeLine make_line_;
  std::chrono::milliseconds patience_;
  bool stalls_ = false;   // the reader did not read for that long
  bool is_torn_ = false;  // a line was not written to its end
  std::size_t lost_ = 0;  // lines
};

// While it exists, std::cerr is such an output.
class PatientErrors {
 public:
  explicit PatientErrors(PatientOutput::MakeLine make_line = PatientOutput::plain_line);
  PatientErrors(const PatientErrors&) = delete;
  PatientErrors& operator=(const PatientErrors&) = delete;
  ~PatientErrors();

 private:
  PatientOutput output_;
  std::streambuf* before_;
};

}  // namespace headgate::cli
