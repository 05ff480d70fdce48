// The memory that a table lives in: private, shared with child processes, or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "headgate/base/result.h"

namespace headgate::store {

enum class Sharing : std::uint8_t {
  threads,    // this process alone
  processes,  // this process and those that it forks from now on
};

// Owns a mapping, and the file descriptor behind it. Moves but does not copy; the memory stays
// where it is. Errors are sentences that name the file.
class Region {
 public:
  // Zeroed memory in huge pages, where the system has them. It is taken from the system as it is
  // touched; what processes share, up to 1 GiB, at once.
  static Result<Region, std::string> anonymous(std::size_t bytes, Sharing sharing);

  // An existing file, mapped shared, whatever its size. std::nullopt if there is none.
  static Result<std::optional<Region>, std::string> file(const std::string& path);

  // Makes a file of zeroes, lets `fill(span, context)` write into it, and only then gives it its
  // name: whoever finds the file finds it finished. No error if somebody else was first.
  using Fill = void (*)(std::span<std::byte> bytes, void* context);
  static Result<void, std::string> create(const std::string& path, std::size_t bytes, Fill fill,
                                          void* context);

  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

  // Joins the users of the file, until the region's end or death; processes that are forked from
  // now on are part of it. True: nobody else uses it, and others wait to join until share().
  [[nodiscard]] bool join() const noexcept;
  void share() const noexcept;

 private:
  Region() = default;

  std::span<std::byte> bytes_;
  int descriptor_ = -1;
};

}  // namespace headgate::store
