#include "headgate/redis/lease/lease_call.h"

#include <chrono>

#include "headgate/net/resp_writer.h"

namespace headgate::redis {
namespace {

constexpr std::int64_t nanos_per_micro = 1000;
constexpr std::size_t head = 8;  // elements before those of the groups

std::string groups_text(const std::vector<LeaseGroup>& groups) {
  std::string text;
  for (const LeaseGroup& group : groups) {
    if (!text.empty()) text += ' ';
    text += std::to_string(group.cost) + ':' + std::to_string(group.requests);
  }
  return text;
}

std::uint64_t units(std::int64_t number) noexcept {
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

}  // namespace

ScriptArguments lease_arguments(std::string_view key, std::string_view id, const LeaseTerms& terms,
                                const LeaseAsk& ask, const std::vector<LeaseGroup>& waiting) {
  const bool is_window = terms.kind == LeaseTerms::Kind::window;
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(Lease::out_for);
  ScriptArguments arguments;
  net::RespWriter out(arguments.bytes);
  const auto put = [&](std::string_view text) {
    out.bulk(text);
    ++arguments.count;
  };
  put("1");
  put(key);
  put("L");
  put(id);
  put(std::to_string(ask.number));
  put(std::to_string(micros.count()));
  put(std::to_string(terms.most));
  put(std::to_string(ask.have));
  put(std::to_string(ask.back));
  put(std::to_string(ask.refund));
  put(std::to_string(ask.want));
  put(groups_text(waiting));
  put(is_window ? "window" : "linear");
  put(std::to_string(terms.burst));
  put(std::to_string(is_window ? terms.length / nanos_per_micro : terms.length));
  put(std::to_string(terms.count));
  put(std::to_string(terms.offset < 0 ? -1 : terms.offset / nanos_per_micro));
  put(std::to_string(ask.window));
  return arguments;
}

std::optional<LeaseReply> lease_reply(const net::RespReply& reply) {
  const auto now = redis_time(reply);
  if (!now || reply.size() < head) return std::nullopt;
  LeaseReply read;
  read.now = *now;
  std::size_t at = 0;
  reply.for_each([&](const net::RespReply& value) {
    const std::int64_t number = value->number;
    switch (at++) {
      case 0:
      case 1:
        break;
      case 2:
        read.is_old = number < 0;
        read.is_kept = number > 0;
        break;
      case 3:
        read.given = units(number);
        break;
      case 4:
        read.there = units(number);
        break;
      case 5:
        read.first = number;
        break;
      case 6:
        read.second = number;
        break;
      case 7:
        read.holders = units(number);
        break;
      default:
        read.served.push_back(units(number));
    }
  });
  return read;
}

}  // namespace headgate::redis
