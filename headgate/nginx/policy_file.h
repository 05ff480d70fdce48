// Which policy file a configuration was read from, in memory that processes share.
#pragma once

#include <sys/stat.h>

#include <array>
#include <climits>
#include <string>

#include "headgate/base/file_version.h"

namespace headgate::nginx {

struct PolicyFile {
  std::array<char, PATH_MAX> path{};  // with a final 0; "": there is none
  FileVersion version;

  // The file of this name as it is now.
  [[nodiscard]] static PolicyFile at(const std::string& path) noexcept {
    PolicyFile file;
    struct stat status = {};
    if (path.size() >= file.path.size() || stat(path.c_str(), &status) != 0) return file;
    path.copy(file.path.data(), path.size());
    file.version = FileVersion(status);
    return file;
  }

  friend bool operator==(const PolicyFile&, const PolicyFile&) = default;
};

}  // namespace headgate::nginx
