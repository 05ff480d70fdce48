// A directory that nobody else can look into, removed with all it holds.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// Its owner holds a lock on it, so that one whose owner was killed can be told from one in use.
class PrivateDirectory {
 public:
  // In $TMPDIR, or /tmp; mode 0700. Removes those that were left there by processes of the same
  // user that are no more.
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
  PrivateDirectory(std::string path, int lock) noexcept : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;
};

}  // namespace headgate::cli
