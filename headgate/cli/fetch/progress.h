// The progress line of `headgate fetch`, if standard error is a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "headgate/base/instant.h"
#include "headgate/client/pacer.h"

namespace headgate::cli {

struct FetchState {
  std::uint64_t done = 0;
  std::uint64_t all = 0;
  std::uint64_t denied = 0;
  std::optional<client::Standing> standing;  // the limit that has least left
  client::Next next;                         // when the next request may start, and why then
};

// "[####....] 120/220  10.2/s  42 of 100 left (burst)  ETA 0:12  waiting 3 s"
[[nodiscard]] std::string progress_line(const FetchState& state, Instant start, Instant now);

// Rewrites one line on standard error. Not thread-safe.
class FetchProgress {
 public:
  explicit FetchProgress(Instant start);
  ~FetchProgress() { clear(); }
  FetchProgress(const FetchProgress&) = delete;
  FetchProgress& operator=(const FetchProgress&) = delete;

  // Whether show() would write now: at most five times per second.
  [[nodiscard]] bool due(Instant now) const noexcept { return terminal_ && now >= next_; }
  void show(const FetchState& state, Instant now);
  // Removes the line, so that other output can follow.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  Instant start_;
  Instant next_;
};

}  // namespace headgate::cli
