// The memory of a table: private, shared with child processes, or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "headgate/base/result.h"

namespace headgate::store {

enum class Sharing : std::uint8_t {
  threads,    // this process only
  processes,  // this process and the child processes that it forks later
};

// Owns a memory mapping and the file descriptor behind it. Can be moved, not copied; the memory
// keeps its address. Errors are sentences that name the file.
//
// A region can grow in place, up to its reach: so many bytes of the address space are reserved for
// it from the start. If the memory is shared, every process that has it then has the new bytes,
// too, if it has the same reach.
class Region {
 public:
  // Zeroed memory, in huge pages if the system has them. The system allocates it at the first
  // access; memory for processes, up to 1 GiB, is allocated at once. If the system does not give as
  // much of the address space as `reach`, the region cannot grow.
  static Result<Region, std::string> anonymous(std::size_t bytes, Sharing sharing,
                                               std::size_t reach = 0);

  // An existing file, mapped shared, whatever its size. std::nullopt if there is none; a symbolic
  // link to nothing is an error, because create() does not follow links.
  static Result<std::optional<Region>, std::string> file(const std::string& path);

  // Makes a file of zeroes, calls `fill(span, context)` to write into it, and only then gives it
  // its name, so that no process finds an unfinished file. No error if the file exists already: it
  // is not changed. What a process leaves behind that is killed meanwhile, PATH.headgate-draft, is
  // used up by the next call.
  using Fill = void (*)(std::span<std::byte> bytes, void* context);
  static Result<void, std::string> create(const std::string& path, std::size_t bytes, Fill fill,
                                          void* context);

  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  // The size of the file now: another process may have made it grow.
  [[nodiscard]] std::size_t file_bytes() const noexcept;

  // What this process knows of.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t reach() const noexcept { return reach_; }

  // Whether the file of this region was deleted, moved away or replaced: no process that starts now
  // finds it. false if that cannot be seen, in a folder that this process may not search.
  [[nodiscard]] bool has_lost_name() const noexcept;

  // Writes the first bytes of a file, at most a page: all of them or, if the process is killed,
  // none. Returns when they are on the disk.
  [[nodiscard]] Result<void, std::string> replace_begin(std::span<const std::byte> bytes) const;

  // Reserves the address space of a file's region. The memory may get another address.
  Result<void, std::string> reserve(std::size_t reach);

  // Makes the region grow from `from` to `to` bytes. The new ones are zero, also if a process died
  // in an earlier try; those of a file are reserved on disk. REQUIRES: `to` is within the reach; no
  // other thread or process is in grow() or uses anything behind `from`.
  Result<void, std::string> grow(std::size_t from, std::size_t to);

  // Registers this process as a user of the file, until the region is destroyed or the process
  // dies; child processes that are forked later belong to the same user. True: there is no other
  // user, and others wait in join() until share() is called. Fails if the file system has no locks.
  [[nodiscard]] Result<bool, std::string> join() const;
  [[nodiscard]] Result<void, std::string> share() const;

 private:
  Region() = default;
  // std::nullopt, and errno: it does not work.
  static std::optional<Region> map(std::size_t bytes, Sharing sharing, std::size_t reach) noexcept;

  std::span<std::byte> bytes_;
  std::size_t reach_ = 0;
  Sharing sharing_ = Sharing::processes;
  int descriptor_ = -1;  // of a file, or of memory that processes share and that can grow
  bool on_disk_ = false;
  std::string path_;  // of a file: absolute, because programs change their folder
};

}  // namespace headgate::store
