#include "headgate/redis/replies.h"

#include <string>
#include <utility>

namespace headgate::redis {
namespace {

// Elements of a node: its host, its port and more.
std::optional<ServerAddress> address_of(const net::RespReply& node, const ServerAddress& from) {
  ServerAddress address;
  std::size_t at = 0;
  node.for_each([&](const net::RespReply& part) {
    if (at == 0) address.host = part->text;
    if (at == 1) address.port = std::to_string(part->number);
    ++at;
  });
  if (at < 2) return std::nullopt;
  // A node that does not know its own address, or hides it.
  if (address.host.empty() || address.host == "?") address.host = from.host;
  return address;
}

}  // namespace

// The first element is the role; others may be names, which are of any kind.
std::optional<std::string> fault_of_role(const net::RespReply& reply) {
  std::string_view role;
  std::size_t at = 0;
  reply.for_each([&](const net::RespReply& part) {
    if (at == 0) role = part->text;
    ++at;
  });
  if (role == "master") return std::nullopt;
  if (role != "sentinel") return "it is a replica; expected the primary";
  return "it is a sentinel; expected 'sentinel: NAME', by which it knows the primary";
}

Result<ServerAddress, std::string> named_primary(const net::RespReply& reply,
                                                 std::string_view name) {
  if (reply->is_error()) return Failure<std::string>(std::string(reply->text));
  ServerAddress address;
  std::size_t at = 0;
  reply.for_each([&](const net::RespReply& part) {
    if (at == 0) address.host = part->text;
    if (at == 1) address.port = part->text;
    ++at;
  });
  if (at == 2 && !address.host.empty() && !address.port.empty()) return address;
  return Failure<std::string>("this sentinel knows no primary " + std::string(name));
}

// Elements of a range: the first slot, the last slot, the primary, its replicas.
std::vector<SlotRange> slot_ranges(const net::RespReply& reply, const ServerAddress& from) {
  std::vector<SlotRange> ranges;
  reply.for_each([&](const net::RespReply& element) {
    SlotRange range;
    std::size_t at = 0;
    element.for_each([&](const net::RespReply& part) {
      if (at == 0) range.first = part->number;
      if (at == 1) range.last = part->number;
      if (at == 2) range.primary = address_of(part, from);
      ++at;
    });
    ranges.push_back(std::move(range));
  });
  return ranges;
}

}  // namespace headgate::redis
