#include "headgate/gate/table_options.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <variant>

namespace headgate::gate {

namespace {

// The law of most keys of a policy: of its own grant, or if that is unlimited, of the first grant
// that is not.
const limit::Law& typical(const policy::Policy& policy) {
  for (const policy::Grant& grant : policy.grants) {
    if (!std::holds_alternative<limit::Closed>(grant.law)) return grant.law;
  }
  return policy.grants.front().law;
}

bool uses_log(const limit::Law& law) {
  return std::holds_alternative<limit::MovingWindow>(law) ||
         std::holds_alternative<limit::Concurrency>(law);
}

// Whether all requests that match it share one key.
bool has_one_key(const policy::Policy& policy) { return policy.key_text == "[]"; }

// The kinds of memory: cells of both sizes, entries of the ledger, and logs.
enum Kind : std::size_t { narrow, wide, entries, logs };
using Shares = std::array<unsigned, 4>;

// What each has at least [1/64ths]. A reload may bring policies of that kind, and overrides may be
// of another one than their policy.
constexpr Shares shares_min = {8, 8, 4, 4};

// Adds what a key needs under this law [bytes].
void add(const limit::Law& law, Shares& needs) {
  if (std::holds_alternative<limit::LinearWhole>(law)) {
    needs[narrow] += 16;
  } else if (std::holds_alternative<limit::LinearExact>(law)) {
    needs[wide] += 32;
  } else if (!std::holds_alternative<limit::Closed>(law)) {
    needs[entries] += 40;
    if (uses_log(law)) needs[logs] += 128;  // for seven requests
  }
}

unsigned sum(const Shares& all) { return std::accumulate(all.begin(), all.end(), 0u); }

// Returns the memory that one key of each policy needs.
Shares needs_of(const policy::PolicySet& policies) {
  Shares many{};
  Shares one{};  // of policies with one key, which need next to nothing beside others
  for (const policy::Policy& policy : policies.policies()) {
    add(typical(policy), has_one_key(policy) ? one : many);
  }
  return sum(many) > 0 ? many : one;
}

// Divides the memory [1/64ths]. What is left by rounding is narrow.
Shares divide(const Shares& needs) {
  Shares shares{};
  unsigned left = 64;
  unsigned needed = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (needs[i] * 64 < shares_min[i] * std::max(1u, sum(needs))) {
      left -= shares[i] = shares_min[i];
    } else {
      needed += needs[i];
    }
  }
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (shares[i] == 0) shares[i] = std::max(shares_min[i], left * needs[i] / needed);
  }
  shares[narrow] = 64 - shares[wide] - shares[entries] - shares[logs];
  return shares;
}

}  // namespace

store::TableOptions table_options(const policy::PolicySet& policies) {
  const policy::TableSettings& settings = policies.settings().table;
  store::TableOptions options;
  options.memory = settings.memory;
  options.file = settings.file;
  const Shares shares = divide(needs_of(policies));
  options.wide_share = shares[wide];
  options.ledger_share = shares[entries] + shares[logs];
  options.log_share = 64 * shares[logs] / options.ledger_share;
  // Enough for a log of 4096 records in each page, also if only one key needs it.
  constexpr unsigned log_share_min = 20;
  const auto all = policies.policies();
  if (std::any_of(all.begin(), all.end(),
                  [](const policy::Policy& policy) { return uses_log(typical(policy)); })) {
    options.log_share = std::max(options.log_share, log_share_min);
  }
  return options;
}

std::string division_warning(const store::TableStats& table, const policy::PolicySet& policies) {
  struct Places {
    Kind kind;
    std::uint64_t present;
    std::uint64_t bytes;  // of one, about
    std::string_view of;
  };
  const Shares needs = needs_of(policies);
  const Shares shares = divide(needs);
  for (const Places& places :
       {Places{narrow, table.narrow.all, 16,
               "linear policies with a whole number of nanoseconds between two units"},
        Places{wide, table.wide.all, 32, "the other linear policies"},
        Places{entries, table.ledger.all, 48, "policies of other algorithms"},
        Places{logs, table.blocks, 129, "moving windows and concurrency"}}) {
    const std::uint64_t wanted = table.memory / 64 * shares[places.kind] / places.bytes;
    if (needs[places.kind] == 0 || places.present >= wanted / 2) continue;
    return "the table was divided for other policies: it has room for " +
           std::to_string(places.present) + " keys of " + std::string(places.of) +
           ", and one that was made for these policies would have room for about " +
           std::to_string(wanted) +
           "; if there are more keys, increase the table's memory (what is added is divided for "
           "these policies) or make a new table";
  }
  return {};
}

std::string size_warning(const store::TableStats& table, const store::TableOptions& options) {
  if (options.file.empty() || table.memory <= options.memory) return {};
  return options.file + ": is a table of " + std::to_string(table.memory) + " bytes, and " +
         std::to_string(options.memory) +
         " were asked for; all of it is used, because a table cannot become smaller: ask for its "
         "size, or remove the file to start with full quotas";
}

}  // namespace headgate::gate
