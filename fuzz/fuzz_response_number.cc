// Any body gives the same number whole, in two pieces and byte by byte. The first byte is a place.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headgate/limit/quota.h"
#include "headgate/policy/match/response_number.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headgate::policy::ResponseNumber;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t middle = data[0] * body.size() / 255;
  for (const std::string_view path : {"usage.total_tokens", "a.b.c", "a"}) {
    ResponseNumber whole(path);
    whole.read(body);
    ResponseNumber parts(path);
    parts.read(body.substr(0, middle));
    parts.read(body.substr(middle));
    ResponseNumber bytes(path);
    for (std::size_t i = 0; i < body.size(); ++i) bytes.read(body.substr(i, 1));
    const auto number = whole.number();
    if (number != parts.number() || number != bytes.number()) std::abort();
    if (number && *number > headgate::limit::Quota::cost_max) std::abort();
  }
  return 0;
}
