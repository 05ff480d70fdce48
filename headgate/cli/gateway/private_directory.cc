#include "headgate/cli/gateway/private_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace headgate::cli {
namespace {

constexpr std::string_view name_begin = "headgate-gateway-";
constexpr int tries_max = 16;  // a try fails only if another start removes the new directory

// Locks a directory and returns its descriptor. -1 if it does not exist, has another owner or is
// locked.
int lock(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat found = {};
  if (fstat(fd, &found) == 0 && found.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

void remove_abandoned(const std::filesystem::path& parent) {
  std::error_code error;
  std::filesystem::directory_iterator entry(parent, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(name_begin)) continue;
    const int fd = lock(entry->path().string());
    if (fd < 0) continue;
    std::error_code ignored;
    std::filesystem::remove_all(entry->path(), ignored);
    close(fd);
  }
}

}  // namespace

Result<PrivateDirectory, std::string> PrivateDirectory::make(std::optional<gid_t> group) {
  const char* parent = std::getenv("TMPDIR");
  std::error_code error;
  const std::filesystem::path whole =
      std::filesystem::absolute(parent != nullptr && *parent != '\0' ? parent : "/tmp", error);
  remove_abandoned(whole);
  std::string path;
  for (int tries = 0; tries < tries_max; ++tries) {
    path = (whole / name_begin).string() + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return Failure<std::string>("can't make a directory " + path + ": " + std::strerror(errno));
    }
    // Until it is locked, another start may remove it as an abandoned one.
    const int fd = lock(path);
    if (fd >= 0 && access(path.c_str(), F_OK) == 0) {
      PrivateDirectory made(std::move(path), fd, group);
      if (const auto completed = made.complete(); !completed) {
        return Failure<std::string>(completed.error());
      }
      return made;
    }
    if (fd >= 0) close(fd);
    rmdir(path.c_str());
  }
  return Failure<std::string>("can't lock a directory of our own, such as " + path);
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_(std::exchange(other.lock_, -1)),
      group_(other.group_) {}

PrivateDirectory::~PrivateDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;  // the process ends: there is no use in a message
  if (is_ours()) std::filesystem::remove_all(path_, ignored);
  close(lock_);
}

Result<void, std::string> PrivateDirectory::complete() {
  if (!is_ours()) {
    const bool made = mkdir(path_.c_str(), 0700) == 0;
    const int again = made ? lock(path_) : -1;
    if (again < 0) {
      const int error = errno;
      if (made) rmdir(path_.c_str());
      return Failure<std::string>("can't make the directory " + path_ +
                                  " again: " + std::strerror(error));
    }
    close(std::exchange(lock_, again));
  }
  const std::string temporary = path_ + "/tmp";
  if ((mkdir(temporary.c_str(), 0755) != 0 && errno != EEXIST) ||
      chmod(temporary.c_str(), 0755) != 0) {  // whatever the umask is
    return Failure<std::string>("can't make the directory " + temporary + ": " +
                                std::strerror(errno));
  }
  constexpr auto same_owner = static_cast<uid_t>(-1);
  if (group_ &&
      (chown(path_.c_str(), same_owner, *group_) != 0 || chmod(path_.c_str(), 0710) != 0)) {
    return Failure<std::string>("can't give " + path_ + " to the group of nginx's workers, " +
                                std::to_string(*group_) + ": " + std::strerror(errno) +
                                "; run the gateway as a user who is not root");
  }
  return {};
}

Result<void, std::string> PrivateDirectory::write(const std::string& name, std::string_view text) {
  if (auto completed = complete(); !completed) return completed;
  const std::string path = path_ + '/' + name;
  const std::string draft = path + ".draft";
  std::ofstream file(draft, std::ios::trunc | std::ios::binary);
  file << text;
  file.close();
  if (!file.fail() && rename(draft.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  unlink(draft.c_str());  // a full disk gets its room back
  return Failure<std::string>("can't write " + path + ": " + std::strerror(error));
}

bool PrivateDirectory::is_ours() const {
  struct stat locked = {};
  struct stat found = {};
  return fstat(lock_, &locked) == 0 && lstat(path_.c_str(), &found) == 0 &&
         locked.st_dev == found.st_dev && locked.st_ino == found.st_ino;
}

bool PrivateDirectory::blank_end(const std::string& name) const {
  if (!is_ours()) return false;
  const int fd = open((path_ + '/' + name).c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const off_t size = lseek(fd, 0, SEEK_END);
  const bool blank = size > 1 && pwrite(fd, " ", 1, size - 2) == 1;
  close(fd);
  return blank;
}

}  // namespace headgate::cli
