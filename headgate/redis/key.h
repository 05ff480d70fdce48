// The names of keys in Redis, and the slots of a cluster that they are in.
//
//   hg:\3api{\a192.0.2.1}     a linear limit: the prefix, the policy's name behind its length, and
//                             in braces the partition key as the store got it
//   hg:E\3api{\a192.0.2.1}    the same under a law of another kind, here the fixed window
//   hg:e\3api{\a192.0.2.1}    the same, leased
//
// Redis hashes what is in braces, so the policies of one client are in the same slot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/limit/law.h"

namespace headgate::redis {

// `key` is that of a store::Charge. Different keys and kinds of laws get different names; all
// linear laws are of one kind. Empty if the law keeps no state.
[[nodiscard]] std::string redis_key(std::string_view prefix, const limit::Law& law,
                                    std::string_view key);
// The same for what lease.lua keeps.
[[nodiscard]] std::string leased_key(std::string_view prefix, const limit::Law& law,
                                     std::string_view key);

inline constexpr std::uint16_t slots = 16384;
// CRC16 of the key, or of what is between its first '{' and the next '}' if that is not empty.
[[nodiscard]] std::uint16_t slot_of(std::string_view redis_key) noexcept;

}  // namespace headgate::redis
