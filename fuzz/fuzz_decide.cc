// Any bytes as the body of POST /v1/decide or /v1/settle are refused with an offset in them and
// printable words, or are read; a list of checks is written, and then read as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "headgate/base/json_text.h"
#include "headgate/server/http/decide_request.h"
#include "headgate/server/http/settle_request.h"

namespace {

using namespace headgate;
using namespace headgate::server;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_fault(const DecideFault& fault, std::size_t size) {
  require(fault.status == 400 || fault.status == 422);
  require(fault.at <= size);
  require(!fault.what.empty());
  for (const char c : fault.what) require(c >= 0x20 && c <= 0x7e);
}

std::string text_of(const DecideRequest& request) {
  std::string out = R"({"op":")";
  out += request.op == limit::Op::spend  ? "spend"
         : request.op == limit::Op::peek ? "peek"
                                         : "refund";
  out += R"(","checks":[)";
  for (const gate::Check& check : request.checks) {
    if (&check != request.checks.data()) out += ',';
    out += R"({"policy":)";
    append_json(out, check.policy);
    out += R"(,"key":)";
    append_json(out, check.key);
    out += R"(,"cost":)";
    append_json(out, *check.cost);
    out += '}';
  }
  return out + "]}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static SettleReader settle_reader;
  if (const auto settle = settle_reader.read(input)) {
    for (const NamedCost& cost : settle->costs) require(cost.cost <= DecideReader::cost_max);
  } else {
    require_fault(settle.error(), size);
  }
  static DecideReader reader;
  const auto request = reader.read(input);
  if (!request) {
    require_fault(request.error(), size);
    return 0;
  }
  require(!request->checks.empty());
  for (const gate::Check& check : request->checks) require(check.cost <= DecideReader::cost_max);
  const std::string text = text_of(*request);
  DecideReader again;
  const auto reread = again.read(text);
  require(reread.has_value() && text_of(*reread) == text);
  return 0;
}
