// How far `headgate fetch` is, on a terminal; elsewhere nothing.
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
  std::optional<client::Standing> standing;  // the limit that is closest to its end
  client::Next next;                         // what the next request waits for
};

// "[####....] 120/220  10.2/s  42 of 100 left (burst)  ETA 0:12  waiting 3 s"
[[nodiscard]] std::string progress_line(const FetchState& state, Instant start, Instant now);

// One line on standard error that is written again and again. Not thread-safe.
class FetchProgress {
 public:
  explicit FetchProgress(Instant start);
  ~FetchProgress() { clear(); }
  FetchProgress(const FetchProgress&) = delete;
  FetchProgress& operator=(const FetchProgress&) = delete;

  // Whether show() would show anything now.
  [[nodiscard]] bool due(Instant now) const noexcept { return terminal_ && now >= next_; }
  void show(const FetchState& state, Instant now);
  // Makes room for other output.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  Instant start_;
  Instant next_;
};

}  // namespace headgate::cli
