#include "headgate/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace headgate::cli {
namespace {

constexpr auto between = std::chrono::milliseconds(200);  // often enough to look steady
// Name, bar and percentage fit into 80 columns.
constexpr std::uint64_t bar_width = 30;
constexpr std::size_t what_max = 32;

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), next_(Clock::now() + between) {}

void Progress::show(const std::string& what, std::uint64_t done, std::uint64_t all) {
  if (!terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + between;
  shown_ = true;
  const std::string name = what.substr(0, what_max);
  if (all == 0) {
    std::fprintf(stderr, "\r\x1b[K%s  %llu MB", name.c_str(),
                 static_cast<unsigned long long>(done / 1'000'000));
    return;
  }
  const std::uint64_t filled = std::min(done, all) * bar_width / all;
  std::string bar(filled, '#');
  bar.resize(bar_width, '.');
  std::fprintf(stderr, "\r\x1b[K%s  [%s] %3llu %%", name.c_str(), bar.c_str(),
               static_cast<unsigned long long>(std::min(done, all) * 100 / all));
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  std::fputs("\r\x1b[K", stderr);
}

}  // namespace headgate::cli
