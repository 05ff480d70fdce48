#include "headgate/redis/script_call.h"

#include "headgate/base/whole_number.h"
#include "headgate/net/resp_writer.h"
#include "headgate/redis/linear_args.h"
#include "headgate/redis/time_to_live.h"

namespace headgate::redis {
namespace {

std::string_view text_of(const net::RespReply& value) noexcept {
  return value->is_text() ? value->text : std::string_view();
}

void put_value(const Swap::Value& value, net::RespWriter& out) {
  out.bulk(value.bytes);
  out.bulk(std::to_string(value.ttl));
}

}  // namespace

ScriptArguments script_arguments(std::span<const std::shared_ptr<Part>> parts,
                                 const std::optional<Instant>& now, Clock clock, bool denied,
                                 const std::vector<Swap>& swaps) {
  std::size_t scripted = 0;
  for (const auto& part : parts) scripted += part->count(Part::Way::scripted);
  ScriptArguments arguments;
  net::RespWriter out(arguments.bytes);
  out.bulk(std::to_string(scripted + swaps.size()));
  std::string linear;
  for (const auto& part : parts) {
    const std::size_t before = linear.size();
    for (std::size_t i = 0; i < part->charges.size(); ++i) {
      if (part->ways[i] != Part::Way::scripted) continue;
      out.bulk(part->keys[i]);
      append_linear_args(part->charges[i], linear);
    }
    if (linear.size() > before) end_bundle(linear);
  }
  for (const Swap& swap : swaps) out.bulk(swap.key);
  std::string time = denied ? "D" : "";
  if (now) {
    time.clear();
    append_time(*now, static_cast<double>(kept_beyond(clock)), denied, time);
  }
  out.bulk(time);
  out.bulk(linear);
  for (const Swap& swap : swaps) {
    out.bulk(swap.before);
    put_value(swap.admitted, out);
    put_value(swap.denied, out);
  }
  arguments.count = 3 + scripted + 6 * swaps.size();
  return arguments;
}

std::optional<ScriptReply> ScriptReply::parse(const net::RespReply& reply) {
  if (reply.size() < 3) return std::nullopt;
  ScriptReply read;
  read.now = redis_time(reply);
  read.values.reserve(reply.size() - 3);
  std::size_t at = 0;
  reply.for_each([&](const net::RespReply& value) {
    if (at == 2) {
      read.outcome = value->number < 0    ? Outcome::changed
                     : value->number == 0 ? Outcome::denied
                                          : Outcome::admitted;
    } else if (at > 2) {
      read.values.push_back(text_of(value));
    }
    ++at;
  });
  return read;
}

std::optional<Instant> redis_time(const net::RespReply& reply) {
  std::optional<std::int64_t> seconds;
  std::optional<std::int64_t> micros;
  std::size_t at = 0;
  reply.for_each([&](const net::RespReply& value) {
    if (at == 0) seconds = whole_number<std::int64_t>(text_of(value));
    if (at == 1) micros = whole_number<std::int64_t>(text_of(value));
    ++at;
  });
  if (!seconds || !micros) return std::nullopt;
  return Instant{*seconds * nanos_per_second + Nanos{*micros} * 1000};
}

}  // namespace headgate::redis
