#include "headgate/sim/variant.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/policy/algorithm.h"
#include "headgate/policy/quantity.h"

namespace headgate::sim {
namespace {

struct Named {
  std::string name;
  policy::Change change;
};

Failure<std::string> failure(std::string why) { return Failure<std::string>(std::move(why)); }

std::optional<limit::Algorithm> algorithm_of(std::string_view name) {
  using limit::Algorithm;
  for (const Algorithm algorithm :
       {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
        Algorithm::moving_window, Algorithm::sliding_window_counter}) {
    if (policy::algorithm_name(algorithm) == name) return algorithm;
  }
  return std::nullopt;
}

// Sets one value in `named`. The error completes "WHAT=VALUE ...".
Result<void, std::string> set(std::string_view what, std::string_view value, Named& named) {
  if (what == "quota") {
    const auto units = policy::parse_units(value);
    if (!units) return failure(units.error());
    named.change.quota = *units;
  } else if (what == "window") {
    const auto window = policy::parse_duration(value);
    if (!window) return failure(window.error());
    named.change.window = *window;
  } else if (what == "algorithm") {
    named.change.algorithm = algorithm_of(value);
    if (!named.change.algorithm) {
      return failure(
          "is not known; expected linear, exponential, fixed-window, sliding-window-counter or "
          "moving-window");
    }
  } else {
    return failure("is not known; expected quota=, window= or algorithm=");
  }
  named.name.append(named.name.empty() ? "" : ", ").append(what).append(" ").append(value);
  return {};
}

// Returns each of `all` with each value of one change, such as "quota=50,100".
Result<std::vector<Named>, std::string> combine(const std::vector<Named>& all,
                                                std::string_view change) {
  const std::string_view what = change.substr(0, change.find('='));
  std::vector<Named> out;
  for (const Named& named : all) {
    std::string_view values = change.substr(std::min(what.size() + 1, change.size()));
    for (bool more = true; more;) {
      const std::size_t comma = values.find(',');
      const std::string_view value = values.substr(0, comma);
      Named next = named;
      if (const auto ok = set(what, value, next); !ok) {
        return failure(std::string(what) + "=" + std::string(value) + " " + ok.error());
      }
      out.push_back(std::move(next));
      if (out.size() > variants_max) {
        return failure("there are too many variants; expected at most " +
                       std::to_string(variants_max));
      }
      more = comma != values.npos;
      values.remove_prefix(more ? comma + 1 : values.size());
    }
  }
  return out;
}

}  // namespace

Result<std::vector<Variant>, std::string> vary(const std::shared_ptr<const policy::PolicySet>& base,
                                               std::size_t policy,
                                               std::span<const std::string> changes) {
  std::vector<Named> all{{}};
  std::set<std::string_view> seen;
  for (const std::string& change : changes) {
    const std::string_view what = std::string_view(change).substr(0, change.find('='));
    if (!seen.insert(what).second) {
      return failure(std::string(what) +
                     "= is given twice; expected all its values in one, such as quota=50,100");
    }
    auto combined = combine(all, change);
    if (!combined) return failure(combined.error());
    all = std::move(*combined);
  }
  std::vector<Variant> variants;
  for (Named& named : all) {
    auto changed = base->with(policy, named.change);
    if (!changed) {
      return failure("policy \"" + base->policies()[policy].name + "\" with " + named.name +
                     ": it " + changed.error());
    }
    variants.push_back({std::move(named.name), std::move(*changed)});
  }
  return variants;
}

}  // namespace headgate::sim
