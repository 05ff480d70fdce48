#include "headgate/policy/file/schema.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/json_text.h"
#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/read_delay.h"
#include "headgate/policy/match/component.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

using Json = std::string;  // one JSON value
using Names = std::vector<std::string_view>;

// ---- JSON

Json text(std::string_view value) {
  Json out;
  append_json(out, value);
  return out;
}

Json object(const std::vector<std::pair<std::string_view, Json>>& members) {
  Json out = "{";
  for (const auto& [name, value] : members) {
    out += (out.size() > 1 ? ", " : "") + text(name) + ": " + value;
  }
  return out + '}';
}

Json list(const std::vector<Json>& values) {
  Json out = "[";
  for (const Json& value : values) out += (out.size() > 1 ? ", " : "") + value;
  return out + ']';
}

Json list(const Names& names) {
  std::vector<Json> values;
  for (const std::string_view name : names) values.push_back(text(name));
  return list(values);
}

// ---- Schemas of values

// YAML reads some words and numbers as what they are; the policy file's reader reads text.
const Json any_text = R"({"type": ["string", "number", "boolean"]})";
const Json some_text = R"({"type": ["string", "number", "boolean"], "minLength": 1})";
// To the system a path ends at a byte 0.
const Json some_path =
    R"({"type": ["string", "number", "boolean"], "minLength": 1, "pattern": "^[^\\u0000]*$"})";

Json pattern(std::string_view regex) {
  return object({{"type", text("string")}, {"pattern", text(regex)}});
}

// An integer, also in quotes, or a text of this form.
Json number(std::uint64_t min, std::uint64_t max, std::string_view regex = "^[0-9]+$") {
  return object({{"type", list(Names{"integer", "string"})},
                 {"minimum", std::to_string(min)},
                 {"maximum", std::to_string(max)},
                 {"pattern", text(regex)}});
}

Json units(std::uint64_t min) {
  return number(min, limit::Quota::units_max, min > 0 ? "^0*[1-9][0-9]{0,14}$" : "^0*[0-9]{1,15}$");
}

Json duration(std::uint64_t min = 1) {
  return number(min, limit::Quota::units_max,
                min > 0 ? "^0*[1-9][0-9]*(ns|us|ms|s|m|h|d|w)?$" : "^[0-9]+(ns|us|ms|s|m|h|d|w)?$");
}

Json any_of(const std::vector<Json>& schemas) { return object({{"anyOf", list(schemas)}}); }

Json list_of(const Json& item, std::size_t min = 0) {
  return object({{"type", text("array")}, {"items", item}, {"minItems", std::to_string(min)}});
}

Json one_or_list_of(const Json& item, std::size_t min = 0) {
  return any_of({item, list_of(item, min)});
}

Json one_of(const Names& words) { return object({{"enum", list(words)}}); }

// The offered words of a table, in the order of the table. What is no single word, such as "an
// integer", is there for the text of faults.
template <class T>
Names words(std::span<const Choice<T>> choices) {
  Names out;
  for (const Choice<T>& choice : choices) {
    if (choice.value && choice.word.find(' ') == choice.word.npos) out.push_back(choice.word);
  }
  return out;
}

template <class T, std::size_t n>
Json word(const Choice<T> (&choices)[n]) {
  return one_of(words<T>(choices));
}

Json yes() { return object({{"enum", list(std::vector<Json>{"true", text("true")})}}); }

Json truth() {
  return object({{"enum", list(std::vector<Json>{"true", "false", text("true"), text("false")})}});
}

// A method or a cookie's name, and a header's name. Integers are tokens, too.
constexpr std::string_view token = "[0-9A-Za-z!#$%&'*+.^_`|~-]+";
constexpr std::string_view header = "[0-9A-Za-z!#$%&'*+.^_`|~-]{1,255}";
Json token_or_integer(const std::string& characters) {
  return object(
      {{"type", list(Names{"string", "integer"})}, {"pattern", text('^' + characters + '$')}});
}
Json header_name() { return token_or_integer(std::string(header)); }

// What a key may be.
struct Shape {
  std::string_view key;
  std::string_view about;
  Json value;
};

// A map with these keys, of which each that is available needs a shape.
Json map(std::span<const Key> keys, const std::vector<Shape>& shapes,
         std::vector<std::pair<std::string_view, Json>> more = {}) {
  const std::string ignored = '^' + std::string(ignored_prefix);
  std::vector<std::pair<std::string_view, Json>> properties;
  for (const Key& key : keys) {
    if (!key.available) continue;
    const auto shape = std::find_if(shapes.begin(), shapes.end(),
                                    [&](const Shape& other) { return other.key == key.name; });
    if (shape == shapes.end()) continue;  // the schema's test finds it missing
    Json value = shape->value;
    value.insert(1, "\"description\": " + text(shape->about) + ", ");
    properties.emplace_back(key.name, std::move(value));
  }
  more.insert(more.begin(), {{"type", text("object")},
                             {"properties", object(properties)},
                             {"patternProperties", object({{ignored, "true"}})},
                             {"additionalProperties", "false"}});
  return object(more);
}

// ---- Conditions between keys

Json required(const Names& keys) { return object({{"required", list(keys)}}); }

// These keys are not there.
Json absent(const Names& keys) {
  std::vector<std::pair<std::string_view, Json>> members;
  for (const std::string_view key : keys) members.emplace_back(key, "false");
  return object({{"properties", object(members)}});
}

Json if_then(const Json& condition, const Json& then) {
  return object({{"if", condition}, {"then", then}});
}

Json all_of(const std::vector<Json>& schemas) { return object({{"allOf", list(schemas)}}); }

// A map that has the key with this value.
Json has(std::string_view key, const Json& value) {
  return object({{"type", text("object")},
                 {"required", list(Names{key})},
                 {"properties", object({{key, value}})}});
}

// If the key is there, it has this value.
Json if_there(std::string_view key, const Json& value) {
  return object({{"properties", object({{key, value}})}});
}

// The keys of a quota are these, and no others.
Json spelled(const Names& keys) {
  Names others;
  for (const std::string_view key : quota_keys) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) others.push_back(key);
  }
  return absent(others);
}

Names words_for(std::span<const limit::Algorithm> algorithms) {
  Names names;
  for (const auto& [word, algorithm] : algorithm_words) {
    if (std::find(algorithms.begin(), algorithms.end(), *algorithm) != algorithms.end()) {
      names.push_back(word);
    }
  }
  return names;
}

// Conditions for keys that only some algorithms use.
void add_own_keys(std::vector<Json>& conditions) {
  for (const OwnKey& own : own_keys) {
    const Json algorithm = one_of(words_for(own.owners));
    const bool by_default = own.chooses || std::find(own.owners.begin(), own.owners.end(),
                                                     limit::Algorithm::linear) != own.owners.end();
    conditions.push_back(if_then(required({own.key}), by_default ? if_there("algorithm", algorithm)
                                                                 : has("algorithm", algorithm)));
  }
}

// Conditions for what a denial may cost under each algorithm.
void add_denials(std::vector<Json>& conditions) {
  for (const auto& [word, algorithm] : algorithm_words) {
    Names offered;
    for (const auto& [cost, denied] : denied_words) {
      if (denied != limit::Denied::penalty && limit::offers(*algorithm, *denied)) {
        offered.push_back(cost);
      }
    }
    if (limit::offers(*algorithm, limit::Denied::penalty)) continue;  // then all are
    conditions.push_back(
        if_then(has("algorithm", one_of({word})), if_there("denied", one_of(offered))));
  }
}

Json rate() {
  return pattern(
      "^[ \\t]*[0-9]+[ \\t]*(/|[Pp][Ee][Rr])[ \\t]*(0*[1-9][0-9]*)?[ \\t]*(ns|us|ms|s|m|h|d|w|"
      "([Nn][Aa][Nn][Oo]|[Mm][Ii][Cc][Rr][Oo]|[Mm][Ii][Ll][Ll][Ii])?[Ss][Ee][Cc][Oo][Nn][Dd][Ss]?|"
      "[Mm][Ii][Nn][Uu][Tt][Ee][Ss]?|[Hh][Oo][Uu][Rr][Ss]?|[Dd][Aa][Yy][Ss]?|[Ww][Ee][Ee][Kk][Ss]?|"
      "[Mm][Oo][Nn][Tt][Hh][Ss]?|[Yy][Ee][Aa][Rr][Ss]?)[ \\t]*$");
}

Json calendar_rate() {
  return pattern(
      "^[ \\t]*[0-9]+[ \\t]*(/|[Pp][Ee][Rr])[ \\t]*(0*1)?[ \\t]*(d|w|[Dd][Aa][Yy][Ss]?|"
      "[Ww][Ee][Ee][Kk][Ss]?|[Mm][Oo][Nn][Tt][Hh][Ss]?)[ \\t]*$");
}

const std::vector<Shape> quota_shapes(const Json& quota) {
  return {{"quota", "Units per window", quota},
          {"window", "The time over which the quota is spread", duration()},
          {"rate", "Quota and window in one, like 100/minute", rate()},
          {"burst", "The most units at once", units(1)},
          {"count", "Units that come back per period", units(1)},
          {"period", "The time in which count units come back", duration()}};
}

std::vector<Shape> with(std::vector<Shape> shapes, const std::vector<Shape>& more) {
  shapes.insert(shapes.end(), more.begin(), more.end());
  return shapes;
}

// ---- The maps of the file

// The parts of a condition, without `not`.
std::vector<Shape> condition_shapes() {
  const Json headers = object({{"type", text("object")},
                               {"propertyNames", header_name()},
                               {"additionalProperties", any_text},
                               {"minProperties", "1"}});
  const std::string part =
      "query:.+|cookie:" + std::string(token) + "|header:" + std::string(header);
  return {{"path", "Paths as upstreams route them, with * for any characters",
           one_or_list_of(pattern("^[/*][^?;]*$"), 1)},
          {"exact-path", "Paths as sent, byte by byte", one_or_list_of(pattern("^[/*][^?]*$"), 1)},
          {"method", "Methods, one of which the request has",
           one_or_list_of(token_or_integer("[0-9A-Z!#$%&'*+.^_`|~-]+"), 1)},
          {"host", "The host, with * for any characters", some_text},
          {"header", "Headers and their values, with * for any characters", headers},
          {"address", "Addresses or blocks, in one of which the client is",
           one_or_list_of(pattern("^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$"), 1)},
          {"has", "Headers, cookies and arguments that the request has",
           one_or_list_of(pattern("^(" + part + ")$"), 1)}};
}

// `match` and `allow`.
Json conditions() {
  const Json refuted = map(not_keys, condition_shapes(), {{"minProperties", "1"}});
  const Json entry =
      map(match_keys,
          with(condition_shapes(),
               {{"not", "Conditions of which none holds", one_or_list_of(refuted, 1)}}),
          {{"minProperties", "1"}});
  return one_or_list_of(entry, 1);
}

Json key_component() {
  return pattern(
      "^(address(/0*([1-9][0-9]?|1[01][0-9]|12[0-8]))?|host|path|method|query:.+|cookie:" +
      std::string(token) + "|(registered-domain:)?header:" + std::string(header) + ")$");
}

Json cost() {
  const std::vector<std::pair<std::string_view, Json>> one = {{"minProperties", "1"},
                                                              {"maxProperties", "1"}};
  const Json reserve = any_of(
      {units(0), map(reserve_keys,
                     {{"request-header", "The header of the request with the units", header_name()},
                      {"estimate", "The share of the settled costs that the units cover",
                       pattern("^0*[1-9][0-9]?%$")}},
                     one)});
  // All printable characters but quotes, backslashes and dots.
  const std::string name = R"([!#-\-/-\[\]-~]+)";
  const Json settle =
      any_of({word(settle_words),
              map(settle_keys,
                  {{"response-header", "The header of the response with the cost", header_name()},
                   {"response-json", "The member of the response's JSON with the cost",
                    object({{"type", list(Names{"string", "number", "boolean"})},
                            {"maxLength", "128"},
                            {"pattern", text('^' + name + "(\\." + name + "){0,7}$")}})}},
                  one)});
  const Json read =
      map(cost_keys,
          {{"request-header", "The header of the request with the cost", header_name()},
           {"response-header", "The header of the response with the cost", header_name()},
           {"reserve", "The units that are taken until the cost is known", reserve},
           {"settle", "Where the response has the cost", settle}},
          {{"anyOf",
            list(std::vector<Json>{all_of({required({"request-header"}),
                                           absent({"response-header", "reserve", "settle"})}),
                                   all_of({required({"response-header"}),
                                           absent({"request-header", "reserve", "settle"})}),
                                   all_of({required({"reserve", "settle"}),
                                           absent({"request-header", "response-header"})})})}});
  return any_of({units(0), word(cost_words), read});
}

Json denied() {
  const Json penalty = map(denied_keys, {{"penalty", "The most debt", duration()}},
                           {{"required", list(Names{"penalty"})}});
  return any_of({word(denied_words), penalty});
}

Json on_outage() {
  const Json local =
      map(on_outage_keys, {{"local", "The share of the quota", pattern("^0*([1-9][0-9]?|100)%$")}},
          {{"required", list(Names{"local"})}});
  return any_of({word(on_outage_words), local});
}

// What takes the place of a policy's own quota, of which it may leave out a part.
Json other_quota() {
  return any_of(
      {all_of({any_of({required({"quota"}), required({"window"})}), spelled({"quota", "window"})}),
       all_of({required({"rate"}), spelled({"rate"})}),
       all_of({required({"burst", "count", "period"}), spelled({"burst", "count", "period"})})});
}

Json override_entry() {
  const Json ids = list_of(any_of({any_text, list_of(any_text)}), 1);
  const Json unlimited = one_of({"unlimited"});
  return map(override_keys,
             with(quota_shapes(any_of({units(0), unlimited})),
                  {{"ids", "The partition keys that get this quota", ids}}),
             {{"required", list(Names{"ids"})},
              {"allOf", list(std::vector<Json>{other_quota(), if_then(has("quota", unlimited),
                                                                      spelled({"quota"}))})}});
}

Json candidate() {
  return map(candidate_keys,
             with(quota_shapes(units(0)), {{"share", "The part of the keys that it is in force for",
                                            pattern("^0*([0-9]|[1-9][0-9]|100)%$")}}),
             {{"allOf", list(std::vector<Json>{other_quota()})}});
}

// What a policy that counts requests in flight has in common with no other.
Json slots() {
  return all_of({required({"quota"}), spelled({"quota"}), absent({"refund-on"}),
                 if_there("cost", any_of({units(0), one_of({"request-bytes"}),
                                          has("request-header", "true")})),
                 if_there("unit", object({{"not", one_of({"requests", "content-bytes"})}})),
                 if_there("overrides", object({{"items", spelled({"quota"})}})),
                 if_there("candidate", spelled({"quota"}))});
}

// What a policy has whose windows are those of a calendar.
Json calendar() {
  const Json rate = all_of({spelled({"rate"}), if_there("rate", calendar_rate())});
  const Json other = any_of({spelled({"quota"}), rate});
  return all_of({required({"rate"}), rate, absent({"aligned", "offset"}),
                 if_there("denied", one_of({"free", "spend"})),
                 if_there("sharing", one_of({"exact", "none"})),
                 if_there("overrides", object({{"items", other}})), if_there("candidate", other)});
}

std::vector<Json> policy_conditions() {
  const Json spellings = any_of(
      {all_of({required({"quota", "window"}), spelled({"quota", "window"})}),
       all_of({required({"rate"}), spelled({"rate"})}),
       all_of({required({"burst", "count", "period"}), spelled({"burst", "count", "period"})})});
  const Json concurrency = has("algorithm", one_of({"concurrency"}));
  const Json known_late = any_of({one_of({"response-bytes"}), has("response-header", "true")});
  const Json late = any_of({known_late, has("reserve", "true")});
  const Json no_key = object({{"type", text("array")}, {"maxItems", "0"}});
  const Json no_duration = number(0, 0, "^0+(ns|us|ms|s|m|h|d|w)?$");
  std::vector<Json> conditions = {
      object({{"if", concurrency}, {"then", slots()}, {"else", spellings}}),
      if_then(has("unit", one_of({"concurrent-requests"})), concurrency),
      if_then(has("cost", late), if_there("denied", one_of({"free"}))),
      if_then(required({"delay"}), all_of({if_there("denied", one_of({"free"})),
                                           if_there("cost", object({{"not", known_late}}))})),
      if_then(required({"delay-waiting"}), required({"delay"})),
      if_then(required({"offset"}), has("aligned", yes())),
      if_then(required({"time-zone"}), calendar()),
      if_then(has("key", no_key), if_there("overrides", no_key)),
      if_then(has("mode", one_of({"shadow", "off"})),
              if_there("candidate", if_there("share", pattern("^0+%$")))),
      if_then(has("sharing", one_of({"none"})), absent({"on-outage"})),
      if_then(has("sharing", one_of({"leased"})),
              all_of({if_there("algorithm", one_of({"linear", "gcra", "token-bucket",
                                                    "leaky-bucket", "fixed-window"})),
                      if_there("denied", one_of({"free"})), if_there("delay", no_duration),
                      if_there("cost", object({{"not", late}}))}))};
  add_own_keys(conditions);
  add_denials(conditions);
  return conditions;
}

std::vector<Shape> term_shapes() {
  return {{"algorithm", "How the quota is spread over the window", word(algorithm_words)},
          {"aligned", "Windows begin at full multiples of their length", truth()},
          {"offset", "How much later aligned windows begin", duration(0)},
          {"log", "The most requests that a moving window remembers per key",
           number(1, limit::Terms::log_max)},
          {"denied", "What a denied request costs", denied()},
          {"reset", "What t means on an admission", word(reset_words)}};
}

Json policy_entry() {
  const Json name = R"({"type": ["string", "number", "boolean"], "pattern": "^[ -~]{1,64}$"})";
  const Json time_zone = pattern("^[0-9A-Za-z_+-][0-9A-Za-z_+/-]*$");
  const Json status = any_of({number(100, 599, "^[1-5][0-9][0-9]$"), pattern("^[1-5]xx$")});
  return map(
      policy_keys,
      with(
          with(quota_shapes(units(0)), term_shapes()),
          {{"name", "The policy's name, which the fields show", name},
           {"time-zone", "Where the days, weeks or months are the windows", time_zone},
           {"lease", "The time after which a slot that was not released is free", duration()},
           {"key", "What separates one client's quota from another's",
            any_of({key_component(), object({{"type", text("array")},
                                             {"items", key_component()},
                                             {"maxItems", std::to_string(components_max)}})})},
           {"match", "The requests that the policy applies to: any of these", conditions()},
           {"unless", "The policies with a match that must not hold", one_or_list_of(any_text)},
           {"unit", "What is counted", name},
           {"cost", "The units that a request takes", cost()},
           {"refund-on", "Responses that give the cost back", one_or_list_of(status)},
           {"mode", "Whether the policy denies", word(mode_words)},
           {"status", "The status of denials", number(400, 599, "^0*[45][0-9][0-9]$")},
           {"overrides", "Other quotas for some keys", list_of(override_entry())},
           {"candidate", "Other numbers that are tried beside these", candidate()},
           {"sharing", "Whether machines share the limit", word(sharing_words)},
           {"on-outage", "What happens while Redis is away", on_outage()},
           {"delay", "The longest wait after which a request passes that would be denied",
            duration(0)},
           {"delay-waiting", "The most requests that wait at once", number(1, delay_waiting_max)}}),
      {{"required", list(Names{"name"})}, {"allOf", list(policy_conditions())}});
}

// `fields`: no two words that send the same field, and none alone.
Json fields() {
  std::vector<Json> conditions;
  const auto contains = [](std::string_view word) {
    return object({{"contains", object({{"const", text(word)}})}});
  };
  for (const auto& first : fields_words) {
    if (first.value->none) {
      conditions.push_back(if_then(contains(first.word), R"({"maxItems": 1})"));
      continue;
    }
    for (const auto& second : fields_words) {
      if (&second <= &first || second.value->none) continue;
      if (!field::shared_field(first.value->form, second.value->form)) continue;
      conditions.push_back(
          object({{"not", all_of({contains(first.word), contains(second.word)})}}));
    }
  }
  return any_of({word(fields_words), object({{"type", text("array")},
                                             {"items", word(fields_words)},
                                             {"uniqueItems", "true"},
                                             {"allOf", list(conditions)}})});
}

Json redis() {
  const Json node = pattern(
      "^(unix:.+|([^:]+|\\[[^\\]]+\\]):0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]"
      "{2}|"
      "655[0-2][0-9]|6553[0-5]))$");
  const Json word = token_or_integer("[!-~]+");
  const Json tls =
      map(redis_tls_keys,
          {{"ca", "Who may certify the server; default: whom the system trusts", some_path},
           {"cert", "Our certificate", some_path},
           {"key", "The key of our certificate", some_path},
           {"server-name", "Whom the server's certificate must name", word}},
          {{"dependencies", R"({"cert": ["key"], "key": ["cert"]})"}});
  const Json one = object({{"type", text("array")}, {"maxItems", "1"}});
  return map(
      redis_keys,
      {{"nodes", "The server, or nodes of the cluster, or sentinels", one_or_list_of(node, 1)},
       {"cluster", "Whether the servers are a cluster", truth()},
       {"sentinel", "By what name the nodes, which are sentinels, know the primary", word},
       {"user", "The ACL user", word},
       {"password-file", "The file with the password", some_path},
       {"tls", "Encrypts, and requires a certificate of the server", tls},
       {"timeout", "How long a request waits for Redis at most", duration()},
       {"prefix", "The beginning of every key", token_or_integer("[ -z|~]{1,64}")}},
      {{"required", list(Names{"nodes"})},
       {"allOf",
        list(std::vector<Json>{
            if_then(object({{"not", any_of({has("cluster", yes()), required({"sentinel"})})}}),
                    if_there("nodes", any_of({node, one}))),
            if_then(has("cluster", yes()), absent({"sentinel"}))})}});
}

Json store() {
  constexpr std::uint64_t memory_max = std::uint64_t{1024} << 30;
  const Json table =
      map(table_keys, {{"memory", "The size of the table",
                        number(std::uint64_t{64} << 10, memory_max, "^[0-9]+(KiB|MiB|GiB)?$")},
                       {"file", "The file that keeps the table over a restart", some_path}});
  return any_of({word(store_words),
                 map(store_keys, {{"table", "A table in shared memory or in a file", table},
                                  {"redis", "Redis, for limits that machines share", redis()}})});
}

Json envoy() {
  const Json entry =
      map(envoy_keys,
          with(term_shapes(), {{"file", "A configuration of envoyproxy/ratelimit", any_text}}),
          {{"required", list(Names{"file"})}});
  return one_or_list_of(any_of({any_text, entry}), 1);
}

// From `least`, 0 or 1, to ten times `tens`.
Json percent(std::string_view begin, unsigned tens, unsigned least = 0) {
  return pattern(std::string(begin) + "0*([" + std::to_string(least) + "-9]|[1-" +
                 std::to_string(tens - 1) + "][0-9]|" + std::to_string(tens) + "0)%$");
}

}  // namespace

std::string schema() {
  const Json client_address =
      map(client_address_keys,
          {{"trusted-proxies", "Peers whose Forwarded and X-Forwarded-For are believed",
            list_of(any_text)},
           {"ipv6-prefix", "IPv6 clients count as one per block of this length", number(1, 128)}});
  const Json cors =
      map(cors_keys,
          {{"expose-headers", "Whether pages of other origins may read the fields", truth()},
           {"preflights", "Whether policies count preflight requests", word(preflight_words)}},
          {{"minProperties", "1"}});
  const Json decisions =
      map(decisions_keys,
          {{"file", "Where lines go; -: standard output", some_path},
           {"which", "Which decisions have a line", word(logged_words)},
           {"sample", "How many of them, chosen at random", percent("^", 10, 1)},
           {"format", "The form of a line", word(log_format_words)},
           {"key", "Whether lines show whose quota they are about", word(partition_key_words)}},
          {{"required", list(Names{"file"})}});
  const Json boulder = map(boulder_keys,
                           {{"defaults", "Boulder's file of default limits", any_text},
                            {"overrides", "Boulder's file of overrides", any_text}},
                           {{"minProperties", "1"}});
  const Json version = object({{"enum", list(std::vector<Json>{"1", text("1")})}});
  const Json unshared =
      object({{"properties", object({{"on-outage", "false"}, {"sharing", one_of({"none"})}})}});
  const Json policies = object({{"type", text("array")},
                                {"items", policy_entry()},
                                {"maxItems", std::to_string(policies_max)}});
  Json out =
      map(file_keys,
          {{"version", "The version of this format", version},
           {"client-address", "Whose word about a client's address is believed", client_address},
           {"fields", "The forms of the fields on responses", fields()},
           {"partition-key", "Whether fields show whose quota they are about",
            word(partition_key_words)},
           {"retry-after-jitter", "Added to the waits of denials", percent("^", 5)},
           {"report", "Which policies the fields list", word(report_words)},
           {"report-when", "On which responses the fields are sent",
            any_of({word(report_when_words), percent("^below ", 10)})},
           {"problem-details", "Whether denials have a body that explains them", truth()},
           {"cors", "Requests of pages of other origins", cors},
           {"decisions", "A log of decisions", decisions},
           {"upstream-prefix", "What is put before the names of an upstream's policies",
            pattern("^[ -~]{1,64}$")},
           {"store", "Where states are kept", store()},
           {"allow", "The requests that no policy counts: any of these", conditions()},
           {"include", "Files with further policies, '*' for any characters",
            one_or_list_of(some_path, 1)},
           {"policies", "What to limit", policies},
           {"boulder", "Boulder's limits from its own files", boulder},
           {"envoy", "The limits of envoyproxy/ratelimit from its own files", envoy()}},
          {{"required", list(Names{"version"})},
           {"anyOf", list(std::vector<Json>{required({"policies"}), required({"include"}),
                                            required({"boulder"}), required({"envoy"})})},
           {"if", object({{"not", has("store", has("redis", "true"))}})},
           {"then", if_there("policies", object({{"items", unshared}}))}});
  out.insert(1, R"("$schema": "http://json-schema.org/draft-07/schema#", )"
                R"("$id": "https://json.schemastore.org/headgate.json", )"
                R"("title": "headgate's policy file", )");
  return out + '\n';
}

}  // namespace headgate::policy
