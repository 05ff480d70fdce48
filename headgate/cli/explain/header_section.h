// A response's header section as `curl -si` prints it.
#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/field/header_line.h"

namespace headgate::cli {

struct HeaderSection {
  struct Line {
    std::string name;
    std::string value;  // without outer whitespace
  };

  std::string status_line;  // "HTTP/1.1 200 OK"; empty where only fields were given
  int status = 0;           // 200; 0 without a status line
  std::vector<Line> lines;
  std::size_t before = 0;  // sections that stood before this one

  // Views of the lines, which must stay where they are.
  [[nodiscard]] std::vector<field::HeaderLine> headers() const;
};

// The longest text of all header sections together.
inline constexpr std::size_t header_bytes_max = std::size_t{1} << 20;

// Reads header sections, each up to an empty line or the end of the input, as long as another
// status line follows at once (after 100 Continue, a redirect, a proxy's CONNECT), and returns the
// last. Lines end in LF or CRLF; one that starts with a space or tab continues the one before it.
// Leaves `in` in the body. The error says which line is at fault, and what was expected.
[[nodiscard]] Result<HeaderSection, std::string> read_header_section(std::istream& in);

}  // namespace headgate::cli
