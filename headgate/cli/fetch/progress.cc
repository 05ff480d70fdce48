#include "headgate/cli/fetch/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

constexpr Nanos between = nanos_per_second / 5;  // often enough to look steady
// The whole line is to fit into 80 columns.
constexpr std::uint64_t bar_width = 20;
constexpr std::size_t policy_width = 24;

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string clock_of(double seconds) {
  const auto whole = static_cast<unsigned long long>(seconds + 0.5);
  std::array<char, 40> text{};
  if (whole < 3600) {
    std::snprintf(text.data(), text.size(), "%llu:%02llu", whole / 60, whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60,
                  whole % 60);
  }
  return text.data();
}

std::string waits_for(const client::Next& next, Instant now) {
  switch (next.why) {
    case client::Why::spent:
    case client::Why::retry_after:
    case client::Why::backoff:
      return "  waiting " + std::to_string(ceil_seconds(next.at.ns - now.ns)) + " s";
    default:
      return {};
  }
}

}  // namespace

std::string progress_line(const FetchState& state, Instant start, Instant now) {
  const std::uint64_t all = std::max<std::uint64_t>(state.all, 1);
  std::string line = "[" + std::string(state.done * bar_width / all, '#');
  line.resize(1 + bar_width, '.');
  line += "] " + std::to_string(state.done) + '/' + std::to_string(state.all);
  const double elapsed = static_cast<double>(now.ns - start.ns) / 1e9;
  if (state.done > 0 && elapsed > 0) {
    const double rate = static_cast<double>(state.done) / elapsed;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "  %.1f/s", rate);
    line += text.data();
    line += "  ETA " + clock_of(static_cast<double>(state.all - state.done) / rate);
  }
  if (state.standing) {
    line += "  " + std::to_string(state.standing->left);
    if (state.standing->quota) line += " of " + std::to_string(*state.standing->quota);
    line += " left";
    if (!state.standing->policy.empty()) {
      line += " (" + printable(state.standing->policy.substr(0, policy_width)) + ')';
    }
  }
  if (state.denied > 0) line += "  " + std::to_string(state.denied) + " denied";
  return line + waits_for(state.next, now);
}

FetchProgress::FetchProgress(Instant start)
    : terminal_(isatty(STDERR_FILENO) == 1), start_(start), next_{start.ns + between} {}

void FetchProgress::show(const FetchState& state, Instant now) {
  if (!due(now)) return;
  next_ = {now.ns + between};
  shown_ = true;
  const std::string line = progress_line(state, start_, now).substr(0, columns() - 1);
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
}

void FetchProgress::clear() {
  if (!shown_) return;
  shown_ = false;
  std::fputs("\r\x1b[K", stderr);
}

}  // namespace headgate::cli
