// Single values of HTTP: dates, Retry-After, Accept. A date that was read is written, and then read
// as the same.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/field/accept.h"
#include "headgate/field/date/http_date.h"
#include "headgate/field/retry_after.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headgate::field;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(accepts_problem_json(input));

  const auto wait = parse_retry_after(input, 784'111'777);
  require(!wait || *wait <= headgate::field_integer_max);

  const auto date = parse_http_date(input, 784'111'777);
  require(!date || wait.has_value());
  if (!date) return 0;
  std::array<char, 29> room{};
  headgate::Writer out(room);
  // Only the leap second at the end of the year 9999 can be read but not written.
  if (!write_http_date(out, *date)) return 0;
  require(parse_http_date(out.text()) == date);
  return 0;
}
