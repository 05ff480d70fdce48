// What a run of `headgate fetch` has done so far, and the words for it.
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
  std::uint64_t requests = 0;  // also those that were denied, redirected or broke off
  std::uint64_t denied = 0;    // answers with 429 or 503
  std::uint64_t bytes = 0;     // of bodies that were kept
  std::vector<FetchFailure> failures;
  std::uint64_t unfinished = 0;  // when it was interrupted
  double seconds = 0;
  double waiting = 0;  // [s] in which nothing was under way, since every server wants a wait

  // "220 fetched, 0 denied, 0 failed, 20.1 s, 1.2 s waiting"
  [[nodiscard]] std::string text() const;
  // The same and more as one JSON object, with a line end.
  [[nodiscard]] std::string json() const;
};

}  // namespace headgate::cli
