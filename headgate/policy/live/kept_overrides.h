// The overrides of one process, which a file keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/live/override_file.h"

namespace headgate::policy {

class PolicySet;

// Why an override is not changed.
struct OverrideRefusal {
  enum class Reason : std::uint8_t {
    no_file,
    unfit,     // it does not fit the policies
    too_many,  // there are live_overrides_max already
    failed,    // the file cannot be changed
  } reason{};
  std::string what;  // a sentence
};

// Not thread-safe. `now` is always the Unix time [s]. Every method may throw std::bad_alloc.
class KeptOverrides {
 public:
  // An empty path: there is no file, and so no override. Then changes are refused with the sentence
  // `without_file`.
  KeptOverrides(std::string path, std::string without_file)
      : file_(std::move(path)), without_file_(std::move(without_file)) {}

  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  // Those that had not ended when the last of the methods below was called.
  [[nodiscard]] const std::vector<LiveOverride>& all() const noexcept { return all_; }
  // Grows with each change of all().
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  // Reads the file for the first time. The error is a sentence.
  [[nodiscard]] Result<void, std::string> open(std::uint64_t now);

  // Makes an override, or replaces the one of the same partition. Blocks for the time of a write to
  // the disk.
  [[nodiscard]] Result<void, OverrideRefusal> set(const PolicySet& policies,
                                                  const LiveOverride& override, std::uint64_t now);
  // Returns what was removed, or std::nullopt if there was none. Blocks like set().
  [[nodiscard]] Result<std::optional<LiveOverride>, OverrideRefusal> remove(
      const PolicySet& policies, std::string_view policy, std::string_view key, std::uint64_t now);

  // What follow() has found, as sentences for a log.
  struct News {
    std::vector<std::string> lines;
    std::string fault;  // why the file cannot be used, once; all() stays as it is; or ""
  };
  // Follows what other processes have changed in the file, and ends the overrides whose time has
  // come. To be called at least once per second; looks at the file's name only if nothing happened.
  // A file that could not be read is tried again each time.
  [[nodiscard]] News follow(std::uint64_t now);

 private:
  [[nodiscard]] Result<void, OverrideRefusal> change(const OverrideFile::Change& change,
                                                     std::uint64_t now);
  void end_those_of_before(std::uint64_t now) noexcept;
  void replace(std::vector<LiveOverride> next, std::uint64_t now) noexcept;

  OverrideFile file_;
  std::string without_file_;
  std::vector<LiveOverride> all_;
  std::vector<std::string> ended_;  // since the last follow(), as JSON
  std::uint64_t now_ = 0;           // that all_ is of
  std::string fault_;               // of the last reading of the file since the start, or ""
  std::uint64_t changes_ = 0;
};

// Returns the override as JSON, for logs.
[[nodiscard]] std::string json_of(const LiveOverride& override);

}  // namespace headgate::policy
