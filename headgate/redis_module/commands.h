// The commands of the module. docs/redis-module.md describes them.
#pragma once

#include <span>
#include <string_view>

#include "headgate/limit/law.h"
#include "headgate/redis_module/api.h"

namespace headgate::redis_module {

// A command with its arguments, the name first. Each function below replies once, and returns `ok`.
using Words = std::span<Text* const>;

// HG.TAKE, HG.PEEK and HG.REFUND: KEY LAW COST [KEY LAW COST ...]. `usual`: the operation of a cost
// that names none. A peek writes nothing.
int take(Context* context, Words words, limit::Op usual) noexcept;

// CL.THROTTLE KEY max_burst count period [quantity].
int throttle(Context* context, Words words) noexcept;

// HG.INFO [KEY [LAW]].
int info(Context* context, Words words) noexcept;

// ---- for these functions

[[nodiscard]] inline std::string_view bytes_of(const Text* text) noexcept {
  std::size_t size = 0;
  const char* const bytes = api.text_bytes(text, &size);
  return {bytes, size};
}

// What an error repeats of an argument.
[[nodiscard]] inline std::string_view shown(std::string_view argument) noexcept {
  return argument.substr(0, 64);
}

// Replies with an error in two parts, of 319 bytes at most.
int refuse(Context* context, std::string_view text, std::string_view more = {}) noexcept;

inline constexpr const char* wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

}  // namespace headgate::redis_module
