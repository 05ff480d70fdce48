// A temporary directory that other users can't read; removed with its content.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// The process holds a lock on it. An unlocked one was left behind by a process that was killed.
class PrivateDirectory {
 public:
  // Creates it in $TMPDIR, or /tmp; mode 0700. Removes those that killed processes of the same user
  // have left there.
  [[nodiscard]] static Result<PrivateDirectory, std::string> make();

  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Lets members of `group` access files below it by their paths, but not list it. False if that
  // fails.
  [[nodiscard]] bool let_through(gid_t group) const;

  // Replaces a file in it. If that fails, it stays as it was, and the error says why.
  [[nodiscard]] Result<void, std::string> write(const std::string& name,
                                                std::string_view text) const;

 private:
  PrivateDirectory(std::string path, int lock) noexcept : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;
};

}  // namespace headgate::cli
