#include "headgate/policy/live/override_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "headgate/base/regular_file.h"
#include "headgate/policy/live/override_text.h"

namespace headgate::policy {
namespace {

// live_overrides_max overrides with a key and a reason of the longest kind, each byte as \u00xx.
constexpr std::size_t size_max =
    live_overrides_max * 6 * (override_key_max + override_reason_max + 512);

// How long to wait for another process that changes the file, which takes milliseconds.
constexpr auto patience = std::chrono::milliseconds(200);
constexpr auto retry_interval = std::chrono::milliseconds(5);

constexpr int links_max = 40;  // that Linux follows

Failure<std::string> failure(const std::string& path, const std::string& what) {
  return Failure<std::string>(path + ": " + what);
}

Failure<std::string> cannot_change(const std::string& path, int error) {
  std::string what = "cannot be changed: " + std::generic_category().message(error);
  if (error == EACCES || error == EROFS || error == EPERM) {
    what += "; expected a folder that the user of this process, " + std::to_string(geteuid()) +
            ", can write, and a file of this user";
  }
  return failure(path, what);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

bool is_at(const std::string& path, int fd) noexcept {
  struct stat named = {};
  struct stat opened = {};
  return stat(path.c_str(), &named) == 0 && fstat(fd, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// What the name leads to. A symbolic link stays: other processes may use the file behind it.
std::string target_of(const std::string& path) {
  std::filesystem::path target = path;
  std::error_code error;
  for (int links = 0; links < links_max; ++links) {
    const auto next = std::filesystem::read_symlink(target, error);
    if (error) break;
    target = target.parent_path() / next;
  }
  return target.string();
}

// The folder of the file, if there is none; or "".
std::string missing_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(target_of(path)).parent_path();
  struct stat status = {};
  const bool is_missing = !folder.empty() && stat(folder.c_str(), &status) != 0 && errno == ENOENT;
  return is_missing ? folder.string() : "";
}

// Opens the draft and locks it, which one process at a time can. The file that is renamed is not
// the draft any more.
Result<Descriptor, std::string> lock(const std::string& path, const std::string& draft) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    Descriptor opened(open(draft.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (opened.get() < 0) return cannot_change(path, errno);
    if (flock(opened.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at(draft, opened.get())) return opened;
    } else if (errno != EWOULDBLOCK) {
      return cannot_change(path, errno);
    } else if (std::chrono::steady_clock::now() > deadline) {
      return failure(path, "another process keeps " + draft +
                               " locked; expected it to change the "
                               "file within milliseconds");
    } else {
      std::this_thread::sleep_for(retry_interval);
    }
  }
}

}  // namespace

OverrideFile::Version OverrideFile::version_of(const std::string& path) noexcept {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return {errno, {}};
  return {0, FileVersion(status)};
}

Result<std::vector<LiveOverride>, std::string> OverrideFile::read() {
  version_ = version_of(path_);  // before its content: a change between is seen the next time
  is_unread_ = true;
  if (version_.error == ENOENT) {
    // A folder that is away, as one of a disk that is not mounted yet, says nothing about its file.
    const std::string missing = missing_folder(path_);
    if (!missing.empty()) {
      return failure(path_, "expected a folder " + missing + ", which is not there");
    }
    is_unread_ = false;
    return std::vector<LiveOverride>();
  }
  const auto text = read_regular_file(path_, size_max);
  if (!text) return failure(path_, text.error());
  if (text->size() > size_max) {
    is_unread_ = false;
    return failure(path_, "is longer than " + std::to_string(size_max) + " bytes");
  }
  auto overrides = read_override_file(*text);
  is_unread_ = false;  // it stays true if there was no memory
  if (overrides) return *std::move(overrides);
  return failure(path_,
                 "byte " + std::to_string(overrides.error().at) + ": " + overrides.error().what);
}

Result<std::vector<LiveOverride>, std::string> OverrideFile::change(const Change& change) {
  const Version version = version_;
  const bool is_unread = is_unread_;
  const auto stays_as_it_was = [&]() noexcept {
    version_ = version;
    is_unread_ = is_unread;
  };
  try {
    auto changed = change_locked(change);
    if (!changed) stays_as_it_was();
    return changed;
  } catch (...) {
    stays_as_it_was();
    throw;
  }
}

Result<std::vector<LiveOverride>, std::string> OverrideFile::change_locked(const Change& change) {
  const std::string target = target_of(path_);
  const std::string draft_path = target + ".headgate-draft";
  const auto draft = lock(path_, draft_path);
  if (!draft) return Failure<std::string>(draft.error());
  auto overrides = read();
  if (!overrides) return overrides;
  auto changed = *overrides;
  if (!change(changed)) return overrides;
  struct stat status = {};  // of the draft: behind the name may be the file of a later change
  auto written = write(draft->get(), override_file_text(changed), status);
  if (written && rename(draft_path.c_str(), target.c_str()) != 0) {
    written = cannot_change(path_, errno);
  }
  if (!written) {
    // A full disk gets its room back. If not, the next change does that.
    [[maybe_unused]] const int emptied = ftruncate(draft->get(), 0);
    return Failure<std::string>(written.error());
  }
  version_ = {0, FileVersion(status)};
  return changed;
}

// The content must reach the disk before the name.
Result<void, std::string> OverrideFile::write(int draft, const std::string& text,
                                              struct stat& status) const {
  if (ftruncate(draft, 0) != 0) return cannot_change(path_, errno);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(draft, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return cannot_change(path_, count < 0 ? errno : EIO);
    done += static_cast<std::size_t>(count);
  }
  if (fsync(draft) != 0 || fstat(draft, &status) != 0) return cannot_change(path_, errno);
  return {};
}

}  // namespace headgate::policy
