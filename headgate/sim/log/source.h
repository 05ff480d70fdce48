// The bytes of a file, unpacked if it is packed.
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
  // "-" is standard input. What is packed by gzip or zstd is known by its first bytes, whatever
  // the file's name. The error says in words why the file can't be read.
  [[nodiscard]] static Result<Source, std::string> open(const std::string& path);

  Source(Source&&) noexcept;
  Source& operator=(Source&&) = delete;
  ~Source();

  // Fills the front of `out` and returns how many bytes there are; 0 at the end or at an error,
  // which error() then tells.
  [[nodiscard]] std::size_t read(std::span<char> out);

  [[nodiscard]] const std::string& error() const noexcept;

  // How much of the file has been read, and how large it is (0: nobody knows) [bytes, as packed].
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
