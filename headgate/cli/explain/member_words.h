// One member of a response's rate limit fields as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/field/read/member.h"

namespace headgate::cli {

// "1 request", "20 tokens".
[[nodiscard]] std::string amount_in_words(std::uint64_t units, std::string_view unit);

// "20 requests in 60 s".
[[nodiscard]] std::string quota_in_words(std::uint64_t q, std::string_view unit,
                                         std::optional<std::uint64_t> w);

// The policy's name and the partition key, as far as the member has them.
[[nodiscard]] std::string name_in_words(const field::Member& member);

// "4 of 5 requests left for the next 8 s", as far as it is known. REQUIRES: member.r.
[[nodiscard]] std::string left_in_words(const field::Member& member);

// The name and all parameters.
[[nodiscard]] std::string member_in_words(const field::Member& member);

}  // namespace headgate::cli
