// One charge of a request, as a store takes it.
#pragma once

#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/limit/law.h"
#include "headgate/limit/shared.h"

namespace headgate::store {

// May `cost` units of this key pass under this law? `law` and `key` are the caller's and must
// outlive the call. `key` is the policy's name and the partition key, encoded so that different
// pairs are different bytes.
struct Charge {
  const limit::Law* law = nullptr;
  std::string_view key;
  std::uint64_t cost = 1;
  limit::Op op = limit::Op::spend;
  // Of a refund or debit: what it belongs to was decided during an outage (Bundle::outage), under
  // OnOutage::local. So this machine alone has its state.
  bool in_outage = false;
  Instant since{};  // of a refund: when the units were taken; {} if unknown
  // Scratch space of Store::prefetch(): the hash of `key`; 0 if it is not computed yet. To be set
  // to 0 whenever `key` changes.
  std::uint64_t key_hash = 0;
  // Of a limit that several machines share; nullptr: this machine counts alone. Only SharedStore
  // distinguishes them.
  const limit::Shared* shared = nullptr;
};
static_assert(sizeof(Charge) == 80);  // the warm path copies charges

}  // namespace headgate::store
