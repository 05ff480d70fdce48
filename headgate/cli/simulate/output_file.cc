#include "headgate/cli/simulate/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace headgate::cli {

Result<void, std::string> write_output(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  if (!file) return Failure<std::string>(path + ": " + std::strerror(errno));
  file << text;
  file.close();
  if (file) return {};
  const int error = errno;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  return Failure<std::string>(path + ": " + std::strerror(error));
}

}  // namespace headgate::cli
