#include "headgate/redis/module_call.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "headgate/net/resp_writer.h"
#include "headgate/redis/law_writer.h"
#include "headgate/redis/linear_text.h"

namespace headgate::redis {
namespace {

using limit::Decision;
using limit::Op;

constexpr std::size_t words_each = 3;    // KEY LAW COST
constexpr std::size_t numbers_each = 6;  // of a key in the reply

std::string cost_text(const store::Charge& charge) {
  const std::string units = std::to_string(std::min(charge.cost, limit::Quota::cost_max));
  switch (charge.op) {
    case Op::spend:
      return units;
    case Op::peek:
      return "peek:" + units;
    case Op::debit:
      return "debit:" + units;
    case Op::refund:
      break;
  }
  const std::string text = "refund:" + units;
  return charge.since.ns > 0 ? text + '@' + LinearText{charge.since.ns}.text() : text;
}

Decision decision_of(const std::array<std::int64_t, numbers_each>& numbers) noexcept {
  const auto [admitted, quota, remaining, reset, wait, wait_ns] = numbers;
  return {.admitted = admitted == 1,
          .remaining = static_cast<std::uint64_t>(remaining),
          .reset = reset < 0 ? Decision::no_reset : static_cast<std::uint64_t>(reset),
          .wait = wait < 0 ? Decision::never : wait * nanos_per_second + wait_ns};
}

}  // namespace

std::string module_command(const Part& part) {
  std::string command;
  net::RespWriter out(command);
  const std::size_t stateless = part.count(Part::Way::here);
  out.array(1 + words_each * (part.charges.size() - stateless));
  out.bulk("HG.TAKE");
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    if (part.ways[i] == Part::Way::here) continue;
    out.bulk(part.keys[i]);
    out.bulk(law_text(*part.charges[i].law));
    out.bulk(cost_text(part.charges[i]));
  }
  return command;
}

bool read_module_reply(const net::RespReply& reply, Part& part) {
  constexpr std::size_t head = 3;  // admitted, and the time
  if (reply.size() != head + part.charges.size() - part.count(Part::Way::here)) return false;
  std::array<std::int64_t, head> first{};
  part.decisions.assign(part.charges.size(), {.admitted = true});
  std::size_t at = 0;
  std::size_t charge = 0;
  bool well_formed = true;
  reply.for_each([&](const net::RespReply& value) {
    if (at < head) {
      first[at++] = value->number;
      return;
    }
    while (part.ways[charge] == Part::Way::here) ++charge;
    std::array<std::int64_t, numbers_each> numbers{};
    std::size_t read = 0;
    well_formed = well_formed && value.size() == numbers_each;
    value.for_each([&](const net::RespReply& number) {
      if (read < numbers_each) numbers[read++] = number->number;
    });
    part.decisions[charge++] = decision_of(numbers);
  });
  part.now = {first[1] * nanos_per_second + first[2] * 1000};
  part.outcome = first[0] == 1 ? Part::Outcome::admitted : Part::Outcome::denied;
  part.in_module = true;
  return well_formed;
}

bool lacks_module(std::string_view error) noexcept {
  return error.find("ERR unknown command") != std::string_view::npos ||
         error.find("NOPERM") != std::string_view::npos;
}

}  // namespace headgate::redis
