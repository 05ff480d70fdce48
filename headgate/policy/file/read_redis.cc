#include "headgate/policy/file/read_redis.h"

#include <algorithm>
#include <string_view>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using yaml::Node;

void read_nodes(const MapReader& map, RedisSettings& redis, Faults& faults) {
  constexpr std::string_view expected = "a list of HOST:PORT, [ADDRESS]:PORT or unix:PATH";
  const Node* node = map.require("nodes", expected);
  if (node == nullptr) return;
  const std::vector<const Node*> items = one_or_list(*node);
  if (items.empty()) {
    faults.add(node->at, "nodes is an empty list; expected " + std::string(expected));
  }
  for (const Node* item : items) {
    const auto text = read_text(*item, "nodes", expected, faults);
    if (!text) continue;
    auto address = ServerAddress::parse(*text);
    if (!address) {
      faults.add(item->at,
                 "nodes " + in_quotes(*text) + " is no server; expected " + address.error());
    } else if (std::find(redis.nodes.begin(), redis.nodes.end(), *address) != redis.nodes.end()) {
      faults.add(item->at, "nodes " + in_quotes(*text) + " is there twice; expected it once");
    } else {
      redis.nodes.push_back(*std::move(address));
    }
  }
  if (!redis.cluster && !map.has("sentinel") && redis.nodes.size() > 1) {
    faults.add(node->at, "nodes are " + std::to_string(redis.nodes.size()) +
                             " servers; expected one, or 'cluster: true', or 'sentinel: NAME'");
  }
}

// Sets `path` to the value of a key that names a file.
void read_path(const MapReader& map, std::string_view key, std::string& path, Faults& faults) {
  const Node* node = map.find(key);
  if (node == nullptr) return;
  if (const auto text = read_path(*node, key, "a path", faults)) path = *text;
}

// Sets `name` to the value of a key that is sent to the server.
void read_word(const MapReader& map, std::string_view key, std::string_view expected,
               std::string& name, Faults& faults) {
  const Node* node = map.find(key);
  if (node == nullptr) return;
  const auto text = read_text(*node, key, expected, faults);
  if (!text) return;
  if (text->empty() || !is_printable(*text) || text->find(' ') != std::string_view::npos) {
    faults.add(node->at, std::string(key) + " " + in_quotes(*text) +
                             " has no or other characters; expected " + std::string(expected));
  } else {
    name = *text;
  }
}

RedisTls read_tls(const Node& node, const RedisSettings& redis, Faults& faults) {
  const MapReader map(node, "tls", redis_tls_keys, faults);
  RedisTls tls;
  read_path(map, "ca", tls.ca, faults);
  read_path(map, "cert", tls.cert, faults);
  read_path(map, "key", tls.key, faults);
  read_word(map, "server-name", "the name in the server's certificate", tls.server_name, faults);
  if (map.has("cert") != map.has("key")) {
    faults.add(node.at, std::string("tls has a ") +
                            (map.has("cert") ? "cert and no key" : "key and no cert") +
                            "; expected both or none");
  }
  const bool has_socket = std::any_of(redis.nodes.begin(), redis.nodes.end(),
                                      [](const auto& address) { return address.is_unix(); });
  if (map.valid() && has_socket) {
    faults.add(node.at, "tls has no meaning with a Unix socket; expected no such key");
  }
  return tls;
}

// A '{' would put all keys into one slot of a cluster.
void read_prefix(const Node& node, RedisSettings& redis, Faults& faults) {
  constexpr std::string_view expected = "1 to 64 printable ASCII characters without { and }";
  const auto text = read_text(node, "prefix", expected, faults);
  if (!text) return;
  if (!is_name(*text) || text->find_first_of("{}") != std::string_view::npos) {
    faults.add(node.at, "prefix " + in_quotes(*text) +
                            " can't be the beginning of a key; expected " + std::string(expected));
  } else {
    redis.prefix = *text;
  }
}

}  // namespace

RedisSettings read_redis(const Node& node, Faults& faults) {
  const MapReader map(node, "redis", redis_keys, faults);
  RedisSettings redis;
  if (const Node* cluster = map.find("cluster")) {
    redis.cluster = read_choice<bool>(*cluster, "cluster", truths, faults).value_or(true);
  }
  read_word(map, "sentinel", "the name by which sentinels know the primary, without spaces",
            redis.sentinel, faults);
  if (redis.cluster && map.has("sentinel")) {
    faults.add(map.find("sentinel")->at,
               "sentinel has no meaning with 'cluster: true'; expected one of them");
  }
  read_nodes(map, redis, faults);
  read_word(map, "user", "the name of an ACL user, without spaces", redis.user, faults);
  read_path(map, "password-file", redis.password_file, faults);
  if (const Node* tls = map.find("tls")) redis.tls = read_tls(*tls, redis, faults);
  if (const Node* timeout = map.find("timeout")) {
    const auto parse = [](std::string_view text) -> Parsed<Nanos> {
      auto span = parse_duration(text);
      if (span && (*span < redis_timeout_min || *span > redis_timeout_max)) {
        return Failure<std::string>("is out of range; expected 1ms to 5s");
      }
      return span;
    };
    const auto span = read_value<Nanos>(*timeout, "timeout", "a duration like 50ms", parse, faults);
    if (span) redis.timeout = *span;
  }
  if (const Node* prefix = map.find("prefix")) read_prefix(*prefix, redis, faults);
  return redis;
}

}  // namespace headgate::policy
