// Reads the bytes of a file, and unpacks gzip and zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "headgate/base/result.h"

namespace headgate::sim {

// Not thread-safe.
class Source {
 public:
  // "-" is standard input. gzip and zstd are recognised by the first bytes; the file's name does
  // not matter. The error is a text for people that says why the file cannot be read.
  [[nodiscard]] static Result<Source, std::string> open(const std::string& path);

  Source(Source&&) noexcept;
  Source& operator=(Source&&) = delete;
  ~Source();

  // Fills the front of `out` and returns the number of bytes; 0 at the end or after an error, which
  // error() then returns.
  [[nodiscard]] std::size_t read(std::span<char> out);

  [[nodiscard]] const std::string& error() const noexcept;

  // How much of the file has been read, and its size (0: unknown) [bytes, before unpacking].
  [[nodiscard]] std::uint64_t position() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;

 private:
  class File;
  class Unpacker;
  class Gzip;
  class Zstd;

  Source(std::unique_ptr<File> file, std::unique_ptr<Unpacker> unpacker) noexcept;

  std::unique_ptr<File> file_;
  std::unique_ptr<Unpacker> unpacker_;  // nullptr: the file is plain
};

}  // namespace headgate::sim
