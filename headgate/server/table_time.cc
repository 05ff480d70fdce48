#include "headgate/server/table_time.h"

#include <chrono>

#include "headgate/base/siphash.h"

namespace headgate::server {

TableTime time_of(const store::Table& table) noexcept {
  using namespace std::chrono;
  const Instant now = table.now();
  const auto wall = duration_cast<nanoseconds>(system_clock::now().time_since_epoch());
  // No policy's key begins so: a name has at most 64 bytes, and its length comes first.
  return {table_hash(table.secret(), "\xff table").lo, now, wall.count() - now.ns};
}

}  // namespace headgate::server
