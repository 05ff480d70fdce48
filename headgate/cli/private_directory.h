// A directory that nobody else can look into, removed with all it holds.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

class PrivateDirectory {
 public:
  // In $TMPDIR, or /tmp; mode 0700.
  [[nodiscard]] static Result<PrivateDirectory, std::string> make();

  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Lets members of a group pass through it, to what they may use further down. False if that
  // fails.
  [[nodiscard]] bool let_through(gid_t group) const;

  // Replaces a file in it. False if that fails.
  [[nodiscard]] bool write(const std::string& name, std::string_view text) const;

 private:
  explicit PrivateDirectory(std::string path) noexcept : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace headgate::cli
