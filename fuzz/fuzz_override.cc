// Any bytes as a file of overrides, and as the body of PUT /v1/overrides, are refused with an
// offset in them and printable words, or are overrides. What was read is written, and then read as
// the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headgate/policy/live/override_text.h"

namespace {

using namespace headgate::policy;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_words(const OverrideTextFault& fault, std::string_view text) {
  require(fault.at <= text.size() && !fault.what.empty());
  require(std::all_of(fault.what.begin(), fault.what.end(),
                      [](char c) { return c >= 0x20 && c <= 0x7e; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto all = read_override_file(text)) {
    const auto again = read_override_file(override_file_text(*all));
    require(again && *again == *all);
  } else {
    require_words(all.error(), text);
  }
  const auto one = read_override(text, 1'769'860'800);
  if (!one) require_words(one.error(), text);
  return 0;
}
