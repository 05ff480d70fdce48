#include "headgate/policy/file/fault.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace headgate::policy {
std::string Fault::text() const {
  if (line == 0) return file + ": " + what;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what;
}

void Faults::add(Position at, std::string what) {
  faults_.push_back({file_, at.line, at.column, std::move(what)});
}

void Faults::warn(Position at, std::string what) {
  if (warnings_.size() == listed_max) return;
  // In order of position. A node that aliases repeat is warned of once.
  const auto before = [](const Fault& a, const Fault& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  };
  Fault warning{file_, at.line, at.column, std::move(what)};
  const auto [first, end] = std::equal_range(warnings_.begin(), warnings_.end(), warning, before);
  const bool known =
      std::any_of(first, end, [&](const Fault& f) { return f.what == warning.what; });
  if (!known) warnings_.insert(end, std::move(warning));
}

std::vector<Fault> Faults::take() {
  std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  const auto same = [](const Fault& a, const Fault& b) {
    return a.line == b.line && a.column == b.column && a.what == b.what;
  };
  faults_.erase(std::unique(faults_.begin(), faults_.end(), same), faults_.end());
  if (faults_.size() > listed_max) {
    const std::size_t more = faults_.size() - listed_max;
    faults_.resize(listed_max);
    faults_.push_back({file_, 0, 0, "and " + std::to_string(more) + " more faults"});
  }
  return std::move(faults_);
}

}  // namespace headgate::policy
