// The metrics that every door has, under the same names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "headgate/gate/counts.h"
#include "headgate/metrics/exposition.h"
#include "headgate/store/table.h"

namespace headgate::metrics {

struct NamedTotals {
  std::string_view policy;  // its name
  gate::PolicyTotals totals;
};

// Each appends its metrics to `out`. Throws std::bad_alloc.
void expose_policies(std::span<const NamedTotals> policies, Exposition& out);
void expose_table(const store::TableStats& stats, Exposition& out);

struct RedisTotals {
  bool up = false;  // a server answers, or the first attempt to connect has not ended
  std::uint64_t round_trips = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t remembered = 0;
  std::uint64_t leased = 0;
};
void expose_redis(const RedisTotals& redis, Exposition& out);
void expose_reloads(std::uint64_t loaded, std::uint64_t refused, Exposition& out);
void expose_fields_left_out(std::uint64_t fields, Exposition& out);

}  // namespace headgate::metrics
