#include "headgate/cli/private_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace headgate::cli {

Result<PrivateDirectory, std::string> PrivateDirectory::make() {
  const char* parent = std::getenv("TMPDIR");
  std::error_code error;
  std::string path =
      std::filesystem::absolute(parent != nullptr && *parent != '\0' ? parent : "/tmp", error)
          .string() +
      "/headgate-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Failure<std::string>("can't make a directory " + path + ": " + std::strerror(errno));
  }
  return PrivateDirectory(std::move(path));
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateDirectory::~PrivateDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;  // nobody is left to tell
  std::filesystem::remove_all(path_, ignored);
}

bool PrivateDirectory::let_through(gid_t group) const {
  constexpr auto same_owner = static_cast<uid_t>(-1);
  return chown(path_.c_str(), same_owner, group) == 0 && chmod(path_.c_str(), 0710) == 0;
}

bool PrivateDirectory::write(const std::string& name, std::string_view text) const {
  std::ofstream file(path_ + '/' + name, std::ios::trunc | std::ios::binary);
  file << text;
  file.close();
  return !file.fail();
}

}  // namespace headgate::cli
