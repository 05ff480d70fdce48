#include "headgate/policy/candidate_share.h"

#include "headgate/base/siphash.h"

namespace headgate::policy {
namespace {

// The bytes "headgate" and "-share-1", little-endian. Another key would put other partitions into
// each share: all machines have to use the same.
constexpr HashSecret share_key{0x6574616764616568, 0x312d65726168732d};

}  // namespace

bool is_in_share(std::string_view key, unsigned percent) noexcept {
  if (percent == 0 || percent >= 100) return percent != 0;
  // The upper 32 bits of SipHash-2-4, scaled to 0..99.
  return (siphash64<2, 4>(share_key, key) >> 32) * 100 >> 32 < percent;
}

}  // namespace headgate::policy
