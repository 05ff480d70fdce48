// The file that keeps overrides: it outlives restarts, and all processes that use it have the same.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headgate/base/file_version.h"
#include "headgate/base/result.h"
#include "headgate/policy/live/override.h"

namespace headgate::policy {

// Not thread-safe. Errors are sentences that begin with the file's name.
class OverrideFile {
 public:
  explicit OverrideFile(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Returns its overrides; none if its folder has no such file. Fails if that cannot be found out,
  // or the file has faults. Throws std::bad_alloc.
  [[nodiscard]] Result<std::vector<LiveOverride>, std::string> read();

  // Returns whether the file is another one than at the last read() or change().
  [[nodiscard]] bool has_changed() const noexcept { return version_of(path_) != version_; }

  // Returns whether the last read() did not see the content. It may do so the next time, though the
  // file is the same: permissions and free descriptors come and go.
  [[nodiscard]] bool is_unread() const noexcept { return is_unread_; }

  // Calls `change` with the overrides of the file, and writes what it leaves if it returns true. No
  // other process changes the file meanwhile; readers see it as it was before or after. Returns
  // what it has then. Fails if another process keeps the file locked. If it fails or throws
  // std::bad_alloc, has_changed() and is_unread() return what they did before.
  using Change = std::function<bool(std::vector<LiveOverride>&)>;
  [[nodiscard]] Result<std::vector<LiveOverride>, std::string> change(const Change& change);

 private:
  struct Version {
    int error = 0;  // of looking at the file; ENOENT: there is none
    FileVersion file;
    friend bool operator==(const Version&, const Version&) = default;
  };
  [[nodiscard]] Result<std::vector<LiveOverride>, std::string> change_locked(const Change& change);
  [[nodiscard]] static Version version_of(const std::string& path) noexcept;
  [[nodiscard]] Result<void, std::string> write(int draft, const std::string& text,
                                                struct stat& status) const;

  std::string path_;
  Version version_;
  bool is_unread_ = false;
};

}  // namespace headgate::policy
