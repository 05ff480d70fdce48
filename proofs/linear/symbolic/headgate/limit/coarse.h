// Found in place of headgate/limit/coarse.h when the law is compiled for its proof, which says
// nothing about keys that share a state.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

using SpanClass = std::uint8_t;
inline SpanClass span_class(Nanos) { return 0; }

struct Answer {
  Answer(const Quota&, const Terms&) {}
};

struct Coarse {
  Coarse(const Answer&, Denied, Nanos) {}
};

}  // namespace headgate::limit
