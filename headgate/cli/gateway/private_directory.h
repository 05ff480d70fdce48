// A temporary directory that other users can't read; removed with its content.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// The process holds a lock on it. An unlocked one was left behind by a process that was killed. It
// has a directory `tmp`, which is not private.
class PrivateDirectory {
 public:
  // Creates it in $TMPDIR, or /tmp. Members of `group`, if there is one, can access files below it
  // by their paths, but not list it. Removes those that killed processes of the same user have left
  // there.
  [[nodiscard]] static Result<PrivateDirectory, std::string> make(std::optional<gid_t> group);

  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Whether it is still there. Otherwise another user may have put one of that name in its place.
  [[nodiscard]] bool is_ours() const;

  // Replaces a file in it. If that fails, it stays as it was, and the error says why. Creates the
  // directory again if it was removed, as by a program that cleans /tmp.
  [[nodiscard]] Result<void, std::string> write(const std::string& name, std::string_view text);

  // Overwrites the last character before the line end of a file in it, which needs no room on the
  // disk. False if that fails, or if it is not ours.
  [[nodiscard]] bool blank_end(const std::string& name) const;

 private:
  PrivateDirectory(std::string path, int lock, std::optional<gid_t> group) noexcept
      : path_(std::move(path)), lock_(lock), group_(group) {}

  // Creates what is missing of the directory, without its files.
  Result<void, std::string> complete();

  std::string path_;
  int lock_;
  std::optional<gid_t> group_;
};

}  // namespace headgate::cli
