// A file with a token, which a test replaces.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

namespace headgate::server {

class TokenFile {
 public:
  explicit TokenFile(const std::string& token) { write(token); }
  ~TokenFile() { std::filesystem::remove(path_); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  void write(const std::string& token) const { std::ofstream(path_) << token << '\n'; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static std::string next_path() {
    static std::atomic<unsigned> count{0};
    return ::testing::TempDir() + "headgate_token_" + std::to_string(getpid()) + '_' +
           std::to_string(++count);
  }

  const std::string path_ = next_path();
};

}  // namespace headgate::server
