// Reads the directives of an nginx.conf.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"

namespace headgate::cli {

struct NginxDirective {
  std::vector<std::string> words;  // the name and its arguments, without quotes
  std::string file;
  std::size_t line = 0;               // of the name, from 1
  std::vector<NginxDirective> block;  // between '{' and '}', if it has a block
};

// Reads a file, and in the place of each `include` the files that it names. Relative names are
// those from the folder of `path`. The error is "FILE:LINE: what is wrong".
[[nodiscard]] Result<std::vector<NginxDirective>, std::string> read_nginx_conf(
    const std::string& path);

}  // namespace headgate::cli
