// Found in place of headgate/base/int128.h when the law is compiled for its proof: i128 is an
// integer of unknown value, and the rest is that file's.
#pragma once

#include "proofs/linear/integer.h"

#define i128 native_i128
#define u128 native_u128
#define i128_max native_i128_max
#include_next "headgate/base/int128.h"
#undef i128
#undef u128
#undef i128_max

namespace headgate {

using i128 = proofs::Int128;
using u128 = proofs::Integer<128, false>;
inline constexpr i128 i128_max{native_i128_max};

}  // namespace headgate
