// What a run of `headgate fetch` has done so far, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headgate::cli {

struct FetchFailure {
  std::string url;
  std::string why;
};

struct FetchReport {
  std::uint64_t fetched = 0;
  std::uint64_t skipped = 0;   // complete from an earlier run
  std::uint64_t requests = 0;  // also those that were denied, redirected or broken
  std::uint64_t denied = 0;    // answers with 429 or 503
  std::uint64_t bytes = 0;     // of complete bodies
  std::vector<FetchFailure> failures;
  std::uint64_t unfinished = 0;  // URLs left when it ended early
  double seconds = 0;
  double waiting = 0;  // [s] without any request, because all servers required a wait

  // "220 fetched, 0 denied, 0 failed, 20.1 s, 1.2 s waiting"
  [[nodiscard]] std::string text() const;
  // One JSON object with the same and more, and a line end.
  [[nodiscard]] std::string json() const;
};

}  // namespace headgate::cli
