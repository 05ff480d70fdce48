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

  std::string status_line;  // "HTTP/1.1 200 OK"; empty if there are only fields
  int status = 0;           // 200; 0 without a status line
  std::vector<Line> lines;
  std::size_t before = 0;  // number of sections before this one

  // Views of `lines`, valid until these change.
  [[nodiscard]] std::vector<field::HeaderLine> headers() const;
};

// The most bytes of all header sections together. Far more than servers and proxies send; bounds
// the memory for an input that is not HTTP at all.
inline constexpr std::size_t header_bytes_max = std::size_t{1} << 20;

// Reads header sections as long as another status line directly follows (after 100 Continue, a
// redirect, a proxy's CONNECT), and returns the last one. A section ends with an empty line or with
// the input. Lines end in LF or CRLF. A line that starts with a space or tab is a fault: such a
// line once continued the field before it, and nginx and Node refuse it (RFC 9112, section 5.2).
// Leaves the body in `in`. The error says which line is wrong, and what was expected; an input that
// becomes bad() ends there.
[[nodiscard]] Result<HeaderSection, std::string> read_header_section(std::istream& in);

}  // namespace headgate::cli
