// Keeps a process running when a file that it has mapped is truncated.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headgate::store {

// The kernel sends SIGBUS to a process that reads or writes a mapped page behind the end of its
// file. With a guard, spare memory then takes the place of the whole mapping, at the same addresses
// and in one step, a line on standard error names the file, and the access is repeated.
//
// The spare memory is shared with child processes that are forked later, so that they continue
// together. It is only reserved: the system allocates a page of it at the first access.
class FileGuard {
 public:
  // Handles SIGBUS in this process and in the child processes that it forks later. Does to all
  // other causes of SIGBUS what was done before. For programs: a library must not change what a
  // signal does. May be called again.
  static void watch() noexcept;

  // Guards `bytes`, the mapping of the file `path`, until it is destroyed; both with the mapping in
  // place. `fill(span, context)` writes into the zeroed spare memory. Without memory for it, or
  // with more than 8 guards, a truncated file ends the process as it does without a guard.
  using Fill = void (*)(std::span<std::byte> spare, void* context);
  FileGuard(std::span<std::byte> bytes, const std::string& path, Fill fill, void* context);
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;
  ~FileGuard();

  // Whether this process has found the file truncated.
  [[nodiscard]] bool lost() const noexcept;

 private:
  struct Slot;
  Slot* slot_ = nullptr;
};

}  // namespace headgate::store
