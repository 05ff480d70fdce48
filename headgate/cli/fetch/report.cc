#include "headgate/cli/fetch/report.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace headgate::cli {

std::string FetchReport::text() const {
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(),
                "%llu fetched, %llu denied, %llu failed, %.1f s, %.1f s waiting",
                static_cast<unsigned long long>(fetched), static_cast<unsigned long long>(denied),
                static_cast<unsigned long long>(failures.size()), seconds, waiting);
  return line.data();
}

std::string FetchReport::json() const {
  const auto rounded = [](double s) { return std::round(s * 1000) / 1000; };
  nlohmann::ordered_json out = {{"fetched", fetched},
                                {"denied", denied},
                                {"failed", failures.size()},
                                {"skipped", skipped},
                                {"unfinished", unfinished},
                                {"requests", requests},
                                {"bytes", bytes},
                                {"seconds", rounded(seconds)},
                                {"waiting_seconds", rounded(waiting)},
                                {"failures", nlohmann::ordered_json::array()}};
  for (const FetchFailure& failure : failures) {
    out["failures"].push_back({{"url", failure.url}, {"why", failure.why}});
  }
  return out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace headgate::cli
