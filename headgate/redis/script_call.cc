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

void put_value(const Write::Value& value, net::RespWriter& out) {
  out.bulk(value.bytes);
  out.bulk(std::to_string(value.ttl));
}

}  // namespace

ScriptArguments script_arguments(std::span<const ScriptBundle> bundles,
                                 const std::optional<Instant>& now, Clock clock,
                                 std::span<const Compared> compared) {
  using Way = Part::Way;
  std::size_t scripted = 0;
  std::size_t writes = 0;
  for (const ScriptBundle& bundle : bundles) {
    if (bundle.part != nullptr) scripted += bundle.part->count(Way::scripted);
    writes += bundle.writes.size();
  }
  ScriptArguments arguments;
  arguments.count = 4 + scripted + 2 * compared.size() + 5 * writes;
  net::RespWriter out(arguments.bytes);
  out.bulk(std::to_string(scripted + compared.size()));
  std::string linear;
  std::string heads;
  for (const ScriptBundle& bundle : bundles) {
    std::size_t charges = 0;
    for (std::size_t i = 0; bundle.part != nullptr && i < bundle.part->charges.size(); ++i) {
      if (bundle.part->ways[i] != Way::scripted) continue;
      out.bulk(bundle.part->keys[i]);
      append_linear_args(bundle.part->charges[i], linear);
      ++charges;
    }
    heads += {static_cast<char>(charges), bundle.denied ? '\1' : '\0',
              static_cast<char>(bundle.writes.size()), bundle.foreseen ? '\1' : '\0'};
  }
  for (const Compared& one : compared) out.bulk(one.key);
  std::string time;
  if (now) append_time(*now, static_cast<double>(kept_beyond(clock)), time);
  out.bulk(time);
  out.bulk(linear);
  out.bulk(heads);
  for (const Compared& one : compared) out.bulk(one.value);
  for (const ScriptBundle& bundle : bundles) {
    for (const Write& write : bundle.writes) {
      out.bulk(std::to_string(write.at + 1));
      put_value(write.admitted, out);
      put_value(write.denied, out);
    }
  }
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
      read.changed = !value->is_text();
      read.verdicts = text_of(value);
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
