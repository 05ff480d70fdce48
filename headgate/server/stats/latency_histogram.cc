#include "headgate/server/stats/latency_histogram.h"

namespace headgate::server {

LatencyHistogram::Totals& LatencyHistogram::Totals::operator+=(
    const LatencyHistogram& histogram) noexcept {
  for (std::size_t i = 0; i < buckets; ++i) {
    counts[i] += histogram.counts_[i].load(std::memory_order_relaxed);
  }
  sum += histogram.sum_.load(std::memory_order_relaxed);
  return *this;
}

}  // namespace headgate::server
