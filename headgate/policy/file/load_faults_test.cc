// The faults of bad policy files: every text with its position.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/policy/file/load.h"
#include "headgate/policy/file/yaml.h"

namespace headgate::policy {
namespace {

struct Bad {
  std::string_view yaml;
  std::string_view faults;  // one per line, without the file's name
};

constexpr Bad in_a_policy[] = {
    {"quota: 2", "3:37: duplicate key 'quota'; expected it once, and line 3 has it already"},
    {"algorithm: elastic",
     "3:48: algorithm 'elastic' is unknown; expected linear, gcra, token-bucket, leaky-bucket, "
     "exponential, fixed-window, sliding-window-counter, moving-window or concurrency"},
    {"algorithm: fixed_window",
     "3:48: algorithm 'fixed_window' is unknown; did you mean 'fixed-window'?"},
    {"algorithm: LINEAR", "3:48: algorithm 'LINEAR' is unknown; did you mean 'linear'?"},
    {"key: [adress]", "3:43: key component 'adress' is unknown; did you mean 'address'?"},
    {"key: [headr:x-key]",
     "3:43: key component 'headr:x-key' is unknown; did you mean 'header:x-key'?"},
    {"key: [header]", "3:43: key component 'header' is not complete; expected header:NAME"},
    {"key: [\"host:a\"]", "3:43: key component 'host:a' is not complete; expected host alone"},
    {"match: {has: [header]}", "3:51: has 'header' is not complete; expected header:NAME"},
    {"match: {path: *}",
     "3:51: a text that begins with '*' or '&', which have a meaning in YAML; expected quotes "
     "around "
     "it"},
    {"match: {host: *.example}",
     "3:51: a text that begins with '*' or '&', which have a meaning in YAML; expected quotes "
     "around "
     "it"},
    {"match: {host: *example}",
     "3:51: an alias without an anchor; expected an anchor of that name before it, or quotes "
     "around "
     "a text that begins with '*'"},
    {"match: {path: %2f}",
     "3:51: a text that begins with a character that has a meaning in YAML; expected quotes around "
     "it"},
    {"method: GET",
     "3:37: unknown key 'method' in a policy; expected it in an entry of match, so look at its "
     "indentation"},
    {"match: {cost: 2}",
     "3:45: unknown key 'cost' in an entry of match; expected it in a policy, so look at its "
     "indentation"},
    {"key: [address/0]",
     "3:43: key component 'address/0' has a prefix that is out of range; expected an integer, 1 to "
     "128"},
    {"key: [address/129]",
     "3:43: key component 'address/129' has a prefix that is out of range; expected an integer, 1 "
     "to 128"},
    {"key: [address/x]",
     "3:43: key component 'address/x' has a prefix that is not an integer; expected an integer, 1 "
     "to 128"},
    {"key: [\"header:\"]",
     "3:43: key component 'header:' does not name a header; expected header:NAME, of up to 255 "
     "characters"},
    {"key: [\"header:a b\"]",
     "3:43: key component 'header:a b' does not name a header; expected header:NAME, of up to 255 "
     "characters"},
    {"key: [registered-domain:host]",
     "3:43: key component 'registered-domain:host' has no source; expected "
     "registered-domain:header:NAME"},
    {"key: [{a: b}]", "3:43: key component is a map; expected one like address or header:NAME"},
    {"key: ", "3:37: key component is empty; expected one like address or header:NAME"},
    {"key: [user]",
     "3:43: key component 'user' is unknown; expected address, address/N, header:NAME, "
     "cookie:NAME, query:NAME, host, path, method or registered-domain:header:NAME"},
    {"match: []",
     "3:44: match is an empty list, which no request matches; expected an entry, or no such key"},
    {"match: x",
     "3:44: an entry of match is a single value; expected a map with path, exact-path, method, "
     "host, header, address, has or not"},
    {"match: [{}]",
     "3:45: an entry of match is empty; expected path, exact-path, method, host, header, address, "
     "has or not"},
    {"match: {path: []}",
     "3:51: path is an empty list, which no request matches; expected an entry, or no such key"},
    {"match: {address: x}",
     "3:54: address 'x' is not an address; expected an address like 10.0.0.1 or a block like "
     "10.0.0.0/8"},
    {"match: {has: address}",
     "3:50: has 'address' is a part that every request has; expected header:NAME, cookie:NAME or "
     "query:NAME"},
    {"match: {has: \"header:\"}",
     "3:50: has 'header:' does not name a header; expected header:NAME, of up to 255 characters"},
    {"match: {not: {}}",
     "3:50: an entry of not is empty; expected path, exact-path, method, host, header, address, "
     "has or not"},
    {"match: {not: {not: {path: /}}}",
     "3:51: unknown key 'not' in an entry of not; expected path, exact-path, method, host, "
     "header, address or has"},
    {"delay: 2m", "3:44: delay '2m' is longer than clients wait; expected at most 60s"},
    {"delay: soon",
     "3:44: delay 'soon' is not a duration; expected an integer with a unit ns us ms s m h d w "
     "(none: seconds), like 60s"},
    {"delay: 2s, algorithm: moving-window",
     "3:44: delay has no meaning with algorithm 'moving-window'; expected it only with linear or "
     "fixed-window"},
    {"delay: 2s, denied: spend",
     "3:44: delay has no meaning where a denial costs something; expected denied: free"},
    {"delay: 2s, cost: response-bytes",
     "3:44: delay needs a cost that is known when the request comes; expected an integer, "
     "request-bytes, {request-header: NAME} or {reserve: ..., settle: ...}"},
    {"delay-waiting: 5", "3:52: delay-waiting has no meaning without delay; expected both"},
    {"delay: 2s, delay-waiting: 0",
     "3:63: delay-waiting '0' is out of range; expected an integer, 1 to 1000000"},
    {"candidate: 5",
     "3:48: candidate is a single value; expected a map with quota, window, rate, burst, count, "
     "period or share"},
    {"candidate: {}",
     "3:48: a candidate changes nothing; expected 'quota' and 'window', or 'rate', or 'burst', "
     "'count' and 'period'"},
    {"candidate: {share: 10%}",
     "3:48: a candidate changes nothing; expected 'quota' and 'window', or 'rate', or 'burst', "
     "'count' and 'period'"},
    {"candidate: {quota: 5, shar: 10%}",
     "3:59: unknown key 'shar' in candidate; did you mean 'share'?"},
    {"candidate: {quota: 5, rate: 1/s}",
     "3:48: quota and window are spelled in several ways; expected 'quota' and 'window', or "
     "'rate', or 'burst', 'count' and 'period'"},
    {"candidate: {quota: unlimited}",
     "3:56: quota 'unlimited' is not an integer; expected an integer, 0 to 999999999999999"},
    {"candidate: {quota: 5, share: 101%}",
     "3:66: share '101%' is out of range; expected 0% to 100%"},
    {"candidate: {quota: 5, share: 10}",
     "3:66: share '10' is not a percentage; expected 0% to 100%"},
    {"mode: shadow, candidate: {quota: 5, share: 1%}",
     "3:80: share '1%' of a policy that is not enforced; expected 0%, or mode: enforce"},
    {"mode: \"off\", candidate: {quota: 5, share: 1%}",
     "3:79: share '1%' of a policy that is not enforced; expected 0%, or mode: enforce"},
    {"unless: a", "3:45: unless names the policy itself; expected another policy"},
    {"unless: [b]", "3:46: unless 'b' names no policy; expected the name of another policy"},
    {"match: [{path: v1}]", "3:52: path 'v1' matches no path; expected '/' or '*' first"},
    {"match: [{method: get}]",
     "3:54: method 'get' has lower case, and methods are case-sensitive; expected one like GET"},
    {"match: [{method: []}]",
     "3:54: method is an empty list, which no request matches; expected an entry, or no "
     "such key"},
    {"match: [{hots: x}]", "3:46: unknown key 'hots' in an entry of match; did you mean 'host'?"},
    {"match: [{header: x}]",
     "3:54: header is a single value; expected a map of header names and their values"},
    {"match: [{header: {\"a b\": c}}]",
     "3:55: header 'a b' is not a header name; expected one like x-plan, of up to 255 characters"},
    {"match: [{header: {A: c, a: d}}]",
     "3:61: duplicate header 'a'; expected it once, and line 3 has it already"},
    {"match: [{path: \"/a?b\"}]",
     "3:52: path '/a?b' has a '?', but paths are matched without their query; expected the path "
     "alone"},
    {"match: [{exact-path: \"/a?b\"}]",
     "3:58: exact-path '/a?b' has a '?', but paths are matched without their query; expected the "
     "path alone"},
    {"match: [{exact-path: a}]", "3:58: exact-path 'a' matches no path; expected '/' or '*' first"},
    {"match: [{path: \"/a;b\"}]",
     "3:52: path '/a;b' has a ';', but paths are matched without their parameters; expected the "
     "path alone, or exact-path"},
    {"key: [path], overrides: [{ids: [/A/, /a], quota: 1}]",
     "3:74: duplicate id '/a'; expected it in one override, and line 3 has it already"},
    {"unit: concurrent-requests",
     "3:43: unit 'concurrent-requests' has no meaning with algorithm 'linear'; expected algorithm "
     "concurrency"},
    {"unit: \"\303\251\"",
     "3:43: unit '\\xc3\\xa9' can't stand in a RateLimit field; expected requests, content-bytes, "
     "concurrent-requests or 1 to 64 printable ASCII characters of your own"},
    {"unit: \"\"",
     "3:43: unit '' can't stand in a RateLimit field; expected requests, content-bytes, "
     "concurrent-requests or 1 to 64 printable ASCII characters of your own"},
    {"cost: -1", "3:43: cost '-1' is not an integer; expected an integer, 0 to 999999999999999"},
    {"cost: 1.5", "3:43: cost '1.5' is not an integer; expected an integer, 0 to 999999999999999"},
    {"cost: {response-header: \"\"}",
     "3:61: response-header '' is not a header name; expected one like x-cost, of up to 255 "
     "characters"},
    {"cost: {response-header: a, request-header: b}",
     "3:43: cost is two headers at once; expected an integer, request-bytes, response-bytes, "
     "{request-header: NAME}, {response-header: NAME} or {reserve: ..., settle: ...}"},
    {"cost: {response-header: a, reserve: 1}",
     "3:43: cost is a header and a reservation at once; expected an integer, request-bytes, "
     "response-bytes, {request-header: NAME}, {response-header: NAME} or {reserve: ..., settle: "
     "...}"},
    {"cost: {reserve: 10}",
     "3:43: cost has no 'settle'; expected response-bytes, {response-header: NAME} or "
     "{response-json: PATH}"},
    {"cost: {settle: response-bytes}",
     "3:43: cost has no 'reserve'; expected an integer, {request-header: NAME} or "
     "{estimate: 95%}"},
    {"cost: {reserve: -1, settle: response-bytes}",
     "3:53: reserve '-1' is not an integer; expected an integer, 0 to 999999999999999"},
    {"cost: {reserve: some, settle: response-bytes}",
     "3:53: reserve 'some' is unknown; expected an integer, {request-header: NAME} or {estimate: "
     "95%}"},
    {"cost: {reserve: {estimate: 0%}, settle: response-bytes}",
     "3:64: estimate '0%' covers no cost; expected 1% to 99%"},
    {"cost: {reserve: {estimate: 100%}, settle: response-bytes}",
     "3:64: estimate '100%' is out of range; expected 0% to 99%"},
    {"cost: {reserve: {estimate: 9%, request-header: x}, settle: response-bytes}",
     "3:53: reserve is two things at once; expected an integer, {request-header: NAME} or "
     "{estimate: 95%}"},
    {"cost: {reserve: {}, settle: response-bytes}",
     "3:53: reserve is an empty map; expected an integer, {request-header: NAME} or {estimate: "
     "95%}"},
    {"cost: {reserve: 1, settle: request-bytes}",
     "3:64: settle 'request-bytes' is unknown; expected response-bytes, {response-header: NAME} or "
     "{response-json: PATH}"},
    {"cost: {reserve: 1, settle: {response-json: usage..total}}",
     "3:80: response-json 'usage..total' is not a path to a member; expected at most 8 names with "
     "dots between them, like usage.total_tokens"},
    {"cost: {reserve: 1, settle: {response-json: a.b.c.d.e.f.g.h.i}}",
     "3:80: response-json 'a.b.c.d.e.f.g.h.i' is not a path to a member; expected at most 8 names "
     "with dots between them, like usage.total_tokens"},
    {"cost: {header: b}",
     "3:44: unknown key 'header' in cost; expected request-header, response-header, reserve or "
     "settle"},
    {"cost: [1]",
     "3:43: cost is a list; expected an integer, request-bytes, response-bytes, {request-header: "
     "NAME}, {response-header: NAME} or {reserve: ..., settle: ...}"},
    {"cost: {request-header: \"a b\"}",
     "3:60: request-header 'a b' is not a header name; expected one like x-cost, of up to 255 "
     "characters"},
    {"cost: {}",
     "3:43: cost is an empty map; expected an integer, request-bytes, response-bytes, "
     "{request-header: NAME}, {response-header: NAME} or {reserve: ..., settle: ...}"},
    {"cost: requestbytes", "3:43: cost 'requestbytes' is unknown; did you mean 'request-bytes'?"},
    {"cost: 1000000000000000",
     "3:43: cost '1000000000000000' is out of range; expected an integer, 0 to 999999999999999"},
    {"sharing: leased",
     "3:46: sharing 'leased' needs a store for several machines; expected store: {redis: ...}, or "
     "sharing: none"},
    {"sharing: shared", "3:46: sharing 'shared' is unknown; expected exact, leased or none"},
    {"sharing: exact",
     "3:46: sharing 'exact' needs a store for several machines; expected store: {redis: ...}, or "
     "sharing: none"},
    {"on-outage: deny",
     "3:48: on-outage has no meaning without store: {redis: ...}; expected no such key"},
    {"denied: maybe", "3:45: denied 'maybe' is unknown; expected free, spend or {penalty: 30s}"},
    {"denied: {penalty: 0}", "3:55: penalty '0' is out of range; expected 1ns to 999999999999999s"},
    {"denied: {}", "3:45: denied has no 'penalty'; expected a duration like 30s"},
    {"denied: {penalty: 30q}",
     "3:55: penalty '30q' is not a duration; expected an integer with a unit ns us ms s m h d w "
     "(none: seconds), like 60s"},
    {"denied: penalty",
     "3:45: denied 'penalty' is unknown; expected free, spend or {penalty: 30s}"},
    {"reset: paced", "3:44: reset 'paced' is unknown; did you mean 'pace'?"},
    {"refund-on: [6xx]",
     "3:49: refund-on '6xx' is not a response status; expected a status like 304, or a class like "
     "5xx"},
    {"refund-on: 99",
     "3:48: refund-on '99' is not a response status; expected a status like 304, or a class like "
     "5xx"},
    {"refund-on: [5xx, foo]",
     "3:54: refund-on 'foo' is not a response status; expected a status like 304, or a class like "
     "5xx"},
    {"mode: dry", "3:43: mode 'dry' is unknown; expected enforce, shadow or off"},
    {"mode: shaddow", "3:43: mode 'shaddow' is unknown; did you mean 'shadow'?"},
    {"status: 200", "3:45: status '200' is out of range; expected an integer, 400 to 599"},
    {"status: abc", "3:45: status 'abc' is not an integer; expected an integer, 400 to 599"},
    {"aligned: true",
     "3:46: aligned has no meaning with algorithm 'linear'; expected it only with fixed-window or "
     "sliding-window-counter"},
    {"offset: 1s",
     "3:45: offset has no meaning with algorithm 'linear'; expected it only with fixed-window or "
     "sliding-window-counter"},
    {"log: 100",
     "3:42: log has no meaning with algorithm 'linear'; expected it only with moving-window"},
    {"lease: 60s",
     "3:44: lease has no meaning with algorithm 'linear'; expected it only with concurrency"},
    {"cost: response-bytes, denied: spend",
     "3:67: denied 'spend' has no meaning with a cost that is known only from the response, which "
     "a denied "
     "request never gets; expected free"},
    {"cost: {reserve: 1, settle: response-bytes}, denied: spend",
     "3:89: denied 'spend' has no meaning with a cost that is known only from the response, which "
     "a denied request never gets; expected free"},
    {"cost: {response-header: x}, denied: {penalty: 1s}",
     "3:73: denied {penalty: ...} has no meaning with a cost that is known only from the response, "
     "which a "
     "denied request never gets; expected free"},
    {"algorithm: exponential, denied: {penalty: 1s}",
     "3:69: denied {penalty: ...} is not offered by algorithm 'exponential'; expected free or "
     "spend"},
    {"algorithm: moving-window, denied: spend",
     "3:71: denied 'spend' is not offered by algorithm 'moving-window'; expected free"},
    {"algorithm: fixed-window, aligned: yes",
     "3:71: aligned 'yes' is unknown; expected true or false"},
    {"algorithm: fixed-window, offset: 1ms",
     "3:70: offset has no meaning without 'aligned: true', which it moves; expected both"},
    {"algorithm: fixed-window, aligned: false, offset: 1ms",
     "3:86: offset has no meaning without 'aligned: true', which it moves; expected both"},
    {"algorithm: sliding-window-counter, aligned: true, offset: 60s",
     "3:95: offset '60s' is not within the window; expected less than it"},
    {"algorithm: fixed-window, aligned: true, offset: -6h",
     "3:85: offset '-6h' is not a duration; expected an integer with a unit ns us ms s m h d w "
     "(none: seconds), like 60s"},
    {"algorithm: moving-window, log: 0",
     "3:68: log '0' is out of range; expected an integer, 1 to 65536"},
    {"algorithm: moving-window, log: 65537",
     "3:68: log '65537' is out of range; expected an integer, 1 to 65536"},
    {"algorithm: moving-window, aligned: true",
     "3:72: aligned has no meaning with algorithm 'moving-window'; expected it only with "
     "fixed-window or sliding-window-counter"},
    {"algorithm: concurrency",
     "3:33: window has no meaning with algorithm 'concurrency', which counts what is in flight; "
     "expected 'quota' alone"},
    {"rate: 1/s",
     "3:5: quota and window are spelled in several ways; expected 'quota' and 'window', or 'rate', "
     "or 'burst', 'count' and 'period'"},
    {"burst: 1",
     "3:5: quota and window are spelled in several ways; expected 'quota' and 'window', or 'rate', "
     "or 'burst', 'count' and 'period'"},
    {"overrides: {}", "3:48: overrides is a map; expected a list of maps with ids and quota"},
    {"overrides: [{quota: 3}]",
     "3:49: an override has no 'ids'; expected a list of partition keys"},
    {"overrides: [{ids: [10.0.0.1]}]",
     "3:49: an override changes nothing; expected 'quota' and 'window', or 'rate', or 'burst', "
     "'count' and 'period', or 'quota: unlimited'"},
    {"overrides: [{ids: [alice], quota: 3}]",
     "3:56: id 'alice' is not an address; expected one like 10.0.0.2 or 2001:db8::1, as the key "
     "has it"},
    {"key: [header:authorization], overrides: [{ids: [Basic a b], quota: 3}]",
     "3:85: id 'Basic a b' counts as missing; expected a value that all programs read in one way, "
     "or \"\" for requests without one"},
    {"key: [address, method], overrides: [{ids: [[10.0.0.0/8, GET]], quota: 3}]",
     "3:81: id '10.0.0.0/8' is a block of /8; expected an address, or a /32 as the key counts "
     "them"},
    {"overrides: [{ids: [\"::ffff:10.0.0.1\"], quota: 3}, {ids: [10.0.0.1], quota: 2}]",
     "3:94: duplicate id '10.0.0.1'; expected it in one override, and line 3 has it already"},
    {"overrides: [{ids: [], quota: 3}]",
     "3:55: ids is an empty list; expected at least one partition key"},
    {"overrides: [{ids: x, quota: 3}]",
     "3:55: ids is a single value; expected a list of partition keys"},
    {"key: [path], overrides: [{ids: [x], quota: unlimited, window: 3}]",
     "3:80: quota 'unlimited' together with a window or rate; expected it alone"},
    {"key: [method, path], overrides: [{ids: [x], quota: 3}]",
     "3:77: an id is a single value; expected a list of 2 values, one for each component of the "
     "key"},
    {"key: [method, path], overrides: [{ids: [[x]], quota: 3}]",
     "3:77: an id is a list of 1; expected a list of 2 values, one for each component of the key"},
    {"key: [path], overrides: [{ids: [[x]], quota: 3}]",
     "3:69: an id is a list; expected a single value, since the key has one component"},
    {"key: [], overrides: [{ids: [x], quota: 3}]",
     "3:57: overrides of a policy with one global partition (key: []); expected a key with at "
     "least one component"},
    {"key: [path], overrides: [{ids: [x], rate: 3}]",
     "3:79: rate '3' is not a rate; expected UNITS/TIME, like 100/minute or 10 per 2 hours"},
    {"key: [path], overrides: [{ids: [x], rate: 3/m, quota: 3}]",
     "3:62: quota and window are spelled in several ways; expected 'quota' and 'window', or "
     "'rate', or 'burst', 'count' and 'period'"},
    {"key: [path], overrides: [{ids: [x], burst: 3}]",
     "3:62: an override has no 'count'; expected it together with 'burst' and 'period'\n"
     "3:62: an override has no 'period'; expected it together with 'burst' and 'count'"},
};
constexpr Bad in_the_settings[] = {
    {"client-address: x",
     "3:17: client-address is a single value; expected a map with trusted-proxies or ipv6-prefix"},
    {"client-address: {trusted-proxies: 10.0.0.1}",
     "3:35: trusted-proxies is a single value; expected a list of addresses, address blocks like "
     "10.0.0.0/8, or unix:"},
    {"client-address: {trusted-proxies: [10.0.0.256, \"fe80::1%eth0\", 10.0.0.0/33]}",
     "3:36: trusted-proxies '10.0.0.256' is not an address; expected one like 10.0.0.1, a block "
     "like 10.0.0.0/8, or unix:\n"
     "3:48: trusted-proxies 'fe80::1%eth0' is not an address; expected one like 10.0.0.1, a block "
     "like 10.0.0.0/8, or unix:\n"
     "3:64: trusted-proxies '10.0.0.0/33' is not an address; expected one like 10.0.0.1, a block "
     "like 10.0.0.0/8, or unix:"},
    {"client-address: {ipv6-prefix: 0}",
     "3:31: ipv6-prefix '0' is out of range; expected an integer, 1 to 128"},
    {"fields: [draft-08]",
     "3:10: fields 'draft-08' is unknown; expected ratelimit, the form of the drafts from 08 on"},
    {"fields: [draft-10]",
     "3:10: fields 'draft-10' is unknown; expected ratelimit, the form of the drafts from 08 on"},
    {"fields: [polli]",
     "3:10: fields 'polli' is unknown; expected ratelimit, draft-07, draft-06, draft-03, "
     "x-ratelimit, x-ratelimit-unix or none"},
    {"fields: [ratelimit, x-ratelimit, draft-07]",
     "3:34: fields 'draft-07' and 'ratelimit' both send RateLimit-Policy; expected one of them"},
    {"fields: [draft-03, draft-06]",
     "3:20: fields 'draft-06' and 'draft-03' both send RateLimit-Limit; expected one of them"},
    {"fields: [draft-06, ratelimit, draft-07, draft-03]",
     "3:20: fields 'ratelimit' and 'draft-06' both send RateLimit-Policy; expected one of them\n"
     "3:31: fields 'draft-07' and 'draft-06' both send RateLimit-Policy; expected one of them\n"
     "3:41: fields 'draft-03' and 'draft-06' both send RateLimit-Limit; expected one of them"},
    {"fields: [x-ratelimit, x-ratelimit]",
     "3:23: fields 'x-ratelimit' is there twice; expected it once"},
    {"fields: [x-ratelimit, x-ratelimit-unix]",
     "3:23: fields 'x-ratelimit-unix' and 'x-ratelimit' both send X-RateLimit-Limit; expected one "
     "of "
     "them"},
    {"fields: [ratelimt]", "3:10: fields 'ratelimt' is unknown; did you mean 'ratelimit'?"},
    {"fields: [none, ratelimit]", "3:10: fields 'none' together with others; expected it alone"},
    {"partition-key: clear",
     "3:16: partition-key 'clear' is unknown; expected omit, opaque or plain"},
    {"retry-after-jitter: 51%",
     "3:21: retry-after-jitter '51%' is out of range; expected 0% to 50%"},
    {"retry-after-jitter: 5",
     "3:21: retry-after-jitter '5' is not a percentage; expected 0% to 50%"},
    {"report: nearest", "3:9: report 'nearest' is unknown; expected all or closest"},
    {"report-when: below 101%",
     "3:14: report-when 'below 101%' is out of range; expected 0% to 100%"},
    {"report-when: below 20",
     "3:14: report-when 'below 20' is not a percentage; expected 0% to 100%"},
    {"report-when: \"below \"",
     "3:14: report-when 'below ' is not a percentage; expected 0% to 100%"},
    {"report-when: \"below 20% \"",
     "3:14: report-when 'below 20% ' is not a percentage; expected 0% to 100%"},
    {"retry-after-jitter: \"5% \"",
     "3:21: retry-after-jitter '5% ' is not a percentage; expected 0% to 50%"},
    {"report-when: below",
     "3:14: report-when 'below' is unknown; expected always, denied or below N%"},
    {"report-when: never",
     "3:14: report-when 'never' is unknown; expected always, denied or below N%"},
    {"problem-details: yes", "3:18: problem-details 'yes' is unknown; expected true or false"},
    {"decisions: {which: all}",
     "3:12: decisions has no 'file'; expected a path, or - for standard output"},
    {"decisions: {file: \"\"}", "3:19: file is empty; expected a path, or - for standard output"},
    {"store: {table: {file: t}}\ndecisions: {file: t}",
     "4:12: decisions has the file of the table, 't'; expected a file of its own"},
    {"decisions: {file: f}",
     "3:12: decisions has the file of the policies, 'f'; expected a file of its own"},
    {"decisions: {file: \"a\\0\"}",
     "3:19: file contains a byte 0; expected a path, or - for standard output"},
    {"decisions: {file: a, which: some, sample: 0%, format: xml, key: clear}",
     "3:29: which 'some' is unknown; expected denied or all\n"
     "3:43: sample '0%' leaves nothing to log; expected 1% to 100%\n"
     "3:55: format 'xml' is unknown; expected json or text\n"
     "3:65: key 'clear' is unknown; expected omit, opaque or plain"},
    {"cors: true", "3:7: cors is a single value; expected a map with expose-headers or preflights"},
    {"cors: {}", "3:7: cors is an empty map; expected 'expose-headers', 'preflights' or both"},
    {"cors: {expose-headers: RateLimit, preflights: true, origin: \"*\"}",
     "3:24: expose-headers 'RateLimit' is unknown; expected true or false\n"
     "3:47: preflights 'true' is unknown; expected counted or free\n"
     "3:53: unknown key 'origin' in cors; expected expose-headers or preflights"},
    {"upstream-prefix: \"\"",
     "3:18: upstream-prefix '' can't be part of a policy's name; expected 1 to 64 printable ASCII "
     "characters"},
    {"store: redis", "3:8: store 'redis' is unknown; expected table, or a map with table or redis"},
    {"store: {redis: {}}",
     "3:16: redis has no 'nodes'; expected a list of HOST:PORT, [ADDRESS]:PORT or unix:PATH"},
    {"store: {redis: {nodes: []}}",
     "3:24: nodes is an empty list; expected a list of HOST:PORT, [ADDRESS]:PORT or unix:PATH"},
    {"store: {redis: {nodes: [redis]}}",
     "3:25: nodes 'redis' is no server; expected HOST:PORT, [ADDRESS]:PORT or unix:PATH"},
    {"store: {redis: {nodes: \"a:0\"}}",
     "3:24: nodes 'a:0' is no server; expected a port from 1 to 65535 behind the last colon"},
    {"store: {redis: {nodes: [a:1, b:1]}}",
     "3:24: nodes are 2 servers; expected one, or 'cluster: true', or 'sentinel: NAME'"},
    {"store: {redis: {nodes: [a:1, a:1], cluster: true}}",
     "3:30: nodes 'a:1' is there twice; expected it once"},
    {"store: {redis: {nodes: [a:1, b:1], sentinel: m m}}",
     "3:46: sentinel 'm m' has no or other characters; expected the name by which sentinels know "
     "the primary, without spaces"},
    {"store: {redis: {nodes: [a:1], sentinel: m, cluster: true}}",
     "3:41: sentinel has no meaning with 'cluster: true'; expected one of them"},
    {"store: {redis: {nodes: [a:1], cluster: maybe}}",
     "3:40: cluster 'maybe' is unknown; expected true or false"},
    {"store: {redis: {nodes: [a:1], user: \"a b\"}}",
     "3:37: user 'a b' has no or other characters; expected the name of an ACL user, without "
     "spaces"},
    {"store: {redis: {nodes: [a:1], password-file: \"\"}}",
     "3:46: password-file is empty; expected a path"},
    {"store: {redis: {nodes: [a:1], password: x}}",
     "3:31: unknown key 'password' in redis; expected nodes, cluster, sentinel, user, "
     "password-file, tls, timeout or prefix"},
    {"store: {redis: {nodes: [a:1], tls: {cert: c}}}",
     "3:36: tls has a cert and no key; expected both or none"},
    {"store: {redis: {nodes: [a:1], tls: {key: c}}}",
     "3:36: tls has a key and no cert; expected both or none"},
    {"store: {redis: {nodes: [\"unix:/s\"], tls: {}}}",
     "3:42: tls has no meaning with a Unix socket; expected no such key"},
    {"store: {redis: {nodes: [a:1], timeout: 1us}}",
     "3:40: timeout '1us' is out of range; expected 1ms to 5s"},
    {"store: {redis: {nodes: [a:1], timeout: 6s}}",
     "3:40: timeout '6s' is out of range; expected 1ms to 5s"},
    {"store: {redis: {nodes: [a:1], prefix: \"{a}\"}}",
     "3:39: prefix '{a}' can't be the beginning of a key; expected 1 to 64 printable ASCII "
     "characters without { and }"},
    {"store: {tabel: {}}", "3:9: unknown key 'tabel' in store; did you mean 'table'?"},
    {"store: {table: {memory: 63KiB}}",
     "3:25: memory '63KiB' is out of range; expected 64KiB to 1024GiB"},
    {"store: {table: {memory: 64MB}}",
     "3:25: memory '64MB' is not a size; expected bytes with an optional KiB, MiB or GiB, like "
     "64MiB"},
    {"store: {table: {memory: 2048GiB}}",
     "3:25: memory '2048GiB' is out of range; expected 64KiB to 1024GiB"},
    {"store: {table: {file: \"\"}}",
     "3:23: file is empty; expected a path, or no such key for memory alone"},
    {"store: {table: {file: [a]}}",
     "3:23: file is a list; expected a path, or no such key for memory alone"},
    {"boulder: {defaults: nowhere/x}",
     "3:21: defaults 'nowhere/x' can't be read: No such file or directory; expected Boulder's file "
     "of default limits"},
    {"envoy: [x]",
     "3:9: envoy 'x' can't be read: No such file or directory; expected a configuration of "
     "envoyproxy/ratelimit"},
    {"polices: []", "3:1: unknown key 'polices' in the file; did you mean 'policies'?"},
    {"zzz: 1",
     "3:1: unknown key 'zzz' in the file; expected version, client-address, fields, partition-key, "
     "retry-after-jitter, report, report-when, problem-details, cors, decisions, upstream-prefix, "
     "store, "
     "allow, include, policies, boulder or envoy"},
    {"<<: x", "3:5: '<<' with a single value; expected a map, or a list of maps"},
    {"<<: {}\n<<: {}", "4:1: duplicate key '<<'; expected it once, with a list of maps"},
    {"<<: [{}, []]", "3:10: '<<' with a list; expected a map, or a list of maps"},
};
constexpr Bad whole[] = {
    {"version: 1\npolicies:\n  - {name: a, rate: 1/s, candidate: {quota: 2}}\n"
     "  - {name: a (candidate), rate: 1/s}\n",
     "4:12: duplicate policy name 'a (candidate)'; expected a unique one, and line 3 has it "
     "already"},
    {"version: 1\npolicies:\n  - {name: a (candidate), rate: 1/s}\n"
     "  - {name: a, rate: 1/s, candidate: {quota: 2}}\n",
     "4:37: duplicate policy name 'a (candidate)'; expected a unique one, and line 3 has it "
     "already"},
    {"version: 1\npolicies:\n  - {name: a, rate: 1/s, match: {path: /a}, candidate: {quota: 2}}\n"
     "  - {name: b, rate: 1/s, unless: a (candidate)}\n",
     "4:34: unless 'a (candidate)' names a candidate; expected 'a', of which it is one"},
    {"version: 1\npolicies:\n  - {rate: 1/s, candidate: {quota: 2},\n"
     "     name: a2345678901234567890123456789012345678901234567890 53}\n",
     "3:28: candidate of a policy whose name has 53 characters; expected at most 52, because ' "
     "(candidate)' is put behind it"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "sharing: none, on-outage: deny}\n",
     "4:63: on-outage has no meaning with sharing 'none', which needs no other machine; expected "
     "no such key"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "sharing: leased, algorithm: moving-window}\n",
     "4:46: sharing 'leased' needs a law under which units can be taken ahead, which only linear "
     "and fixed-window are; expected one of them, or sharing: exact"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, rate: 1/day, "
     "time-zone: UTC, sharing: leased}\n",
     "4:53: sharing 'leased' needs windows of one length, which those of a calendar are not; "
     "expected no time-zone, or sharing: exact"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "sharing: leased, denied: spend}\n",
     "4:46: sharing 'leased' decides denials without Redis, so that they cannot cost anything; "
     "expected denied: free, or sharing: exact"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "sharing: leased, cost: response-bytes}\n",
     "4:46: sharing 'leased' needs costs that are known before the response; expected another "
     "cost, or sharing: exact"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "on-outage: {local: 0%}}\n",
     "4:56: local '0%' leaves nothing; expected 1% to 100%, or on-outage: deny"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "on-outage: {local: 101%}}\n",
     "4:56: local '101%' is out of range; expected 0% to 100%"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "on-outage: {}}\n",
     "4:48: on-outage has no 'local'; expected a share of the quota like 25%"},
    {"version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n  - {name: a, quota: 1, window: 1s, "
     "on-outage: never}\n",
     "4:48: on-outage 'never' is unknown; expected {local: 100%}, allow or deny"},
    {"version: 1\n"
     "policies:\n"
     "  - {name: a, quota: 1, window: 1s, key: [\"query:\303\251\"], mode: x}\n",
     "3:62: mode 'x' is unknown; expected enforce, shadow or off"},
    {"version: 1\n"
     "policies: *x\n",
     "2:11: an alias without an anchor; expected an anchor of that name before it, or quotes "
     "around "
     "a text that begins with '*'"},
    {"!2", "1:1: tag '!2' has no meaning here; expected a plain value"},
    {"version: 1\n"
     "policies: [{name:}]\n",
     "2:17: a ':' with nothing behind it; expected 'key: value', or quotes around the text"},
    {"version: 1\n"
     "policies: \"\n",
     "2:11: a quoted text that is not closed; expected its quote"},
    {"version: 1\n"
     "policies: []\n"
     "fields\n",
     "3:1: a line that is no 'key: value'; expected one, with a space behind the ':' and in the "
     "column of the keys above"},
    {"version: 1\n"
     "policies:\n"
     "  - name: a\n"
     "    rate:5/m\n"
     "    key: address\n",
     "4:5: a line that is no 'key: value'; expected one, with a space behind the ':' and in the "
     "column of the keys above"},
    {"version: 1\n"
     "policies:\n"
     "  - name:a\n"
     "    rate: 5/m\n",
     "3:9: a ':' without a space behind it; expected 'key: value'"},
    {"version: 1\n"
     "policies:\n"
     "  - name: a\n"
     "    rate:5/m\n"
     "\n"
     "    key: address\n",
     "4:5: a line that is no 'key: value'; expected one, with a space behind the ':' and in the "
     "column of the keys above"},
    {"[]\n"
     "a\n",
     "2:1: something after the end of the file's map; expected nothing"},
    {"a: -\n", "1:4: a '-' where no list can start; expected the list on a line of its own"},
    {"\357\273\277version: 2\n"
     "policies: []\n",
     "1:10: version '2' is not known; expected 1"},
    {"version: 1\n"
     "policies:\n"
     "  - {name: a, burst: 999999999999999, count: 1, period: 2s}\n",
     "3:22: burst 999999999999999 takes too long to fill; expected burst x period / count of at "
     "most 999999999999999s"},
    {"version: 1\n"
     "policies: []\n"
     "]\n",
     "3:1: a line that continues no map; expected 'key: value', in the column of the keys above"},
    {"version: 1: 2\n",
     "1:11: a ':' that starts no value; expected 'key: value' alone on its line, or quotes around "
     "a text with ': '"},
    {"# x\n", "1:1: the file is empty; expected 'version: 1' and 'policies:'"},
    {"version: 1\r\n"
     "polices: []\r\n",
     "1:1: the file has no 'policies'; expected a list of policies\n"
     "2:1: unknown key 'polices' in the file; did you mean 'policies'?"},
    {"version: 1\n"
     "policies: []\n"
     "version: 1\n",
     "3:1: duplicate key 'version'; expected it once, and line 1 has it already"},
    {"", "1:1: the file is empty; expected 'version: 1' and 'policies:'"},
    {"version: 1\n"
     "policies:\n"
     "  - name: a\n"
     "   quota: 1\n",
     "4:4: 'quota' is indented by 3 spaces; expected 4, like 'name' in line 3"},
    {"version: 1\n"
     "policies:\n"
     "  - {name: caf\351}\n",
     "3:15: byte '\\xe9' is not UTF-8; expected text in UTF-8"},
    {"- a\n",
     "1:1: the file is a list; expected a map with version, client-address, fields, partition-key, "
     "retry-after-jitter, report, report-when, problem-details, cors, decisions, upstream-prefix, "
     "store, "
     "allow, include, policies, boulder or envoy"},
    {"version: 1\n"
     "policies:\n"
     "  - nmae: x\n"
     "    quota: -1\n"
     "    window: 1y\n"
     "    algorithm: linaer\n"
     "    overrides:\n"
     "      - {ids: [x], qouta: 3}\n"
     "  - name: x\n"
     "  - name: \"x\"\n"
     "    rate: 1/s\n",
     "3:5: unknown key 'nmae' in a policy; did you mean 'name'?\n"
     "3:5: a policy has no 'name'; expected 1 to 64 printable ASCII characters\n"
     "4:12: quota '-1' is not an integer; expected an integer, 0 to 999999999999999\n"
     "5:13: window '1y' is not a duration; expected an integer with a unit ns us ms s m h d w "
     "(none: seconds), like 60s\n"
     "6:16: algorithm 'linaer' is unknown; did you mean 'linear'?\n"
     "8:9: an override changes nothing; expected 'quota' and 'window', or 'rate', or 'burst', "
     "'count' and 'period', or 'quota: unlimited'\n"
     "8:16: id 'x' is not an address; expected one like 10.0.0.2 or 2001:db8::1, as the key has "
     "it\n"
     "8:20: unknown key 'qouta' in an override; did you mean 'quota'?\n"
     "9:5: a policy has no quota; expected 'quota' and 'window', or 'rate', or 'burst', 'count' "
     "and 'period'\n"
     "10:11: duplicate policy name 'x'; expected a unique one, and line 9 has it already"},
    {"version: 1\n"
     "? [a]\n"
     ": b\n"
     "policies: []\n",
     "2:3: a key of the file is a list; expected version, client-address, fields, partition-key, "
     "retry-after-jitter, report, report-when, problem-details, cors, decisions, upstream-prefix, "
     "store, "
     "allow, include, policies, boulder or envoy"},
    {"version: 1\n"
     "policies:\n"
     "  - {quota: 1}\n"
     "  - {window: 0}\n",
     "3:5: a policy has no 'name'; expected 1 to 64 printable ASCII characters\n"
     "3:5: a policy has no 'window'; expected an integer with a unit ns us ms s m h d w (none: "
     "seconds), like 60s\n"
     "4:5: a policy has no 'name'; expected 1 to 64 printable ASCII characters\n"
     "4:5: a policy has no 'quota'; expected an integer, 0 to 999999999999999\n"
     "4:14: window '0' is out of range; expected 1ns to 999999999999999s"},
    {"version: 1\n"
     "policies:\n"
     "  - {name: a, quota: unlimited, window: 2s}\n"
     "  - {name: \"\", rate: 1000000000000000/s}\n"
     "  - {name: [a], rate: 1/decade}\n"
     "  - {name: \"a\\nb\", burst: 0, count: 1, period: 1s}\n",
     "3:22: quota 'unlimited' is not an integer; expected an integer, 0 to 999999999999999\n"
     "4:12: name '' can't stand in a RateLimit field; expected 1 to 64 printable ASCII characters\n"
     "4:22: rate '1000000000000000/s' is out of range; expected 0 to 999999999999999 units per 1ns "
     "to 999999999999999s\n"
     "5:12: name is a list; expected 1 to 64 printable ASCII characters\n"
     "5:23: rate '1/decade' is not a rate; expected UNITS/TIME, like 100/minute or 10 per 2 hours\n"
     "6:12: name 'a\\x0ab' can't stand in a RateLimit field; expected 1 to 64 printable ASCII "
     "characters\n"
     "6:27: burst '0' is out of range; expected an integer, 1 to 999999999999999"},
    {"version: 1\n", "1:1: the file has no 'policies'; expected a list of policies"},
    {"policies: []\n", "1:1: the file has no 'version'; expected version: 1"},
    {"---\n", "1:1: the file is empty; expected 'version: 1' and 'policies:'"},
    {"version: [1\n", "2:1: a list that is not closed; expected ',' or ']'"},
    {"version: 1\n"
     "store: {table: x\n",
     "3:1: a map that is not closed; expected ',' or '}'"},
    {"version: 1\n"
     "policies: {}\n",
     "2:11: policies is a map; expected a list of policies"},
    {"version: 1\n"
     "policies:\n",
     "2:1: policies is empty; expected a list of policies"},
    {"version: 1\n"
     "policies: [hi]\n",
     "2:12: a policy is a single value; expected a map with name, quota, window, rate, burst, "
     "count, period, algorithm, aligned, offset, log, lease, key, match, unit, cost, denied, "
     "reset, "
     "refund-on, mode, status, overrides, sharing, on-outage, unless, time-zone, delay, "
     "delay-waiting or candidate"},
    {"hello\n",
     "1:1: the file is a single value; expected a map with version, client-address, fields, "
     "partition-key, retry-after-jitter, report, report-when, problem-details, cors, decisions, "
     "upstream-prefix, store, allow, include, policies, boulder or envoy"},
    {"version: 1\n"
     "policies: &x [*x]\n",
     "2:15: an alias inside the value of its own anchor; expected it after the end of that value"},
    {"version: 1\n"
     "policies:\n"
     "\t- name: a\n",
     "3:1: a tab in the indentation; expected spaces"},
    {"version: !!int 1\n"
     "policies: []\n",
     "1:10: tag 'tag:yaml.org,2002:int' has no meaning here; expected a plain value"},
    {"version: 1\n"
     "policies: []\n"
     "---\n"
     "version: 1\n",
     "3:1: a second document starts here; expected one document in a file"},
    {"version: 2\n"
     "policies: []\n",
     "1:10: version '2' is not known; expected 1"},
    {"version: 1\n"
     "policies:\n"
     "  - {name: a, quota: 999999999999999, window: 999999999999998s}\n",
     "3:22: quota 999999999999999 over this window is beyond exact 128-bit arithmetic; expected a "
     "smaller quota or shorter times"},
};

// Returns the faults of a file, one per line, without its name.
std::string faults_of(std::string_view yaml) {
  const Loaded loaded = load_text(yaml, "f");
  if (loaded) return "none";
  std::string out;
  for (const Fault& fault : loaded.error()) {
    if (!out.empty()) out += '\n';
    EXPECT_EQ(fault.text().substr(0, 2), "f:");
    out += fault.text().substr(2);
  }
  return out;
}

TEST(Faults, InAPolicy) {
  for (const Bad& bad : in_a_policy) {
    const std::string yaml = "version: 1\npolicies:\n  - {name: a, quota: 1, window: 1s, " +
                             std::string(bad.yaml) + "}\n";
    EXPECT_EQ(faults_of(yaml), bad.faults) << bad.yaml;
  }
}

TEST(Faults, WhereSlotsAreCounted) {
  constexpr Bad cases[] = {
      {"quota: 1, candidate: {window: 1s}",
       "3:69: window has no meaning with algorithm 'concurrency', which counts what is in flight; "
       "expected 'quota' alone"},
      {"rate: 1/s",
       "3:45: rate has no meaning with algorithm 'concurrency', which counts what is in flight; "
       "expected 'quota' alone"},
      {"quota: 1, reset: next",
       "3:56: reset has no meaning with algorithm 'concurrency'; expected it only with linear, "
       "exponential, fixed-window, moving-window or sliding-window-counter"},
      {"quota: 1, denied: spend",
       "3:57: denied 'spend' is not offered by algorithm 'concurrency'; expected free"},
      {"quota: 1, denied: {penalty: 1s}",
       "3:57: denied {penalty: ...} is not offered by algorithm 'concurrency'; expected free"},
      {"quota: 1, refund-on: 5xx",
       "3:60: refund-on has no meaning with algorithm 'concurrency', which gives every slot back; "
       "expected no such key"},
      {"quota: 1, cost: response-bytes",
       "3:55: cost is known only from the response, when algorithm 'concurrency' gives its slots "
       "back; expected an integer, request-bytes or {request-header: NAME}"},
      {"quota: 1, cost: {reserve: 1, settle: response-bytes}",
       "3:55: cost is known only from the response, when algorithm 'concurrency' gives its slots "
       "back; expected an integer, request-bytes or {request-header: NAME}"},
      {"quota: 1, unit: requests",
       "3:55: unit 'requests' has no meaning with algorithm 'concurrency', which counts what is in "
       "flight; expected concurrent-requests or a unit of your own"},
      {"quota: 1, lease: 0s", "3:56: lease '0s' is out of range; expected 1ns to 999999999999999s"},
      {"quota: 1, overrides: [{ids: [10.0.0.1], window: 1s}]",
       "3:87: window has no meaning with algorithm 'concurrency', which counts what is in flight; "
       "expected 'quota' alone"},
  };
  for (const Bad& bad : cases) {
    const std::string yaml = "version: 1\npolicies:\n  - {name: a, algorithm: concurrency, " +
                             std::string(bad.yaml) + "}\n";
    EXPECT_EQ(faults_of(yaml), bad.faults) << bad.yaml;
  }
}

TEST(Faults, WhereWindowsFollowACalendar) {
  constexpr Bad calendars[] = {
      {"rate: 5/day, time-zone: UTC, candidate: {rate: 9/month}",
       "3:62: rate '9/month' has another time than the policy's rate; expected the same, or quota "
       "alone"},
      {"rate: 5/month, time-zone: Europe/Berlim",
       "3:41: time-zone 'Europe/Berlim' is not in the system's time zone database; expected a name "
       "like Europe/Berlin, or UTC"},
      {"rate: 5/month, time-zone: ../../etc/localtime",
       "3:41: time-zone '../../etc/localtime' is not in the system's time zone database; expected "
       "a name like Europe/Berlin, or UTC"},
      {"rate: 5/month, time-zone: [UTC]",
       "3:41: time-zone is a list; expected a name like Europe/Berlin, or UTC"},
      {"rate: 5/hour, time-zone: UTC",
       "3:21: rate '5/hour' is not a rate per day, week or month; expected one like 5000/month"},
      {"rate: 5 per 2 months, time-zone: UTC",
       "3:21: rate '5 per 2 months' is not a rate per day, week or month; expected one like "
       "5000/month"},
      {"quota: 5, window: 1d, time-zone: UTC",
       "3:22: quota has no meaning with time-zone; expected a rate per day, week or month, like "
       "rate: 5000/month\n"
       "3:33: window has no meaning with time-zone; expected a rate per day, week or month, like "
       "rate: 5000/month"},
      {"time-zone: UTC", "3:26: time-zone without a rate; expected one like rate: 5000/month"},
      {"rate: 5/day, time-zone: UTC, algorithm: linear",
       "3:39: time-zone has no meaning with algorithm 'linear'; expected it only with "
       "fixed-window"},
      {"rate: 5/day, time-zone: UTC, aligned: true, offset: 6h",
       "3:53: aligned has no meaning with time-zone, whose days, weeks and months are the windows; "
       "expected no such key\n"
       "3:67: offset has no meaning with time-zone, whose days, weeks and months are the windows; "
       "expected no such key"},
      {"rate: 5/day, time-zone: UTC, denied: {penalty: 1s}",
       "3:52: denied {penalty: ...} is not offered by algorithm 'fixed-window'; expected free or "
       "spend"},
      {"rate: 5/day, time-zone: UTC, overrides: [{ids: [10.0.0.1], window: 1h}]",
       "3:82: window has no meaning with time-zone; expected a rate per day, week or month, like "
       "rate: 5000/month"},
      {"rate: 5/day, time-zone: UTC, overrides: [{ids: [10.0.0.1], quota: 1, rate: 5/day}]",
       "3:81: quota has no meaning with time-zone; expected a rate per day, week or month, like "
       "rate: 5000/month"},
      {"rate: 5/day, time-zone: UTC, overrides: [{ids: [10.0.0.1], rate: 9/month}]",
       "3:80: rate '9/month' has another time than the policy's rate; expected the same, or quota "
       "alone"},
      {"rate: 5/day, time-zone: UTC, overrides: [3]",
       "3:56: an override is a single value; expected a map with ids, quota, window, rate, burst, "
       "count or period"},
      {"rate: 5/day, time-zone: UTC, candidate: [3]",
       "3:55: candidate is a list; expected a map with quota, window, rate, burst, count, period "
       "or share"},
  };
  for (const Bad& bad : calendars) {
    const std::string yaml =
        "version: 1\npolicies:\n  - {name: a, " + std::string(bad.yaml) + "}\n";
    EXPECT_EQ(faults_of(yaml), bad.faults) << bad.yaml;
  }
}

TEST(Faults, InTheSettings) {
  for (const Bad& bad : in_the_settings) {
    const std::string yaml = "version: 1\npolicies: []\n" + std::string(bad.yaml) + "\n";
    EXPECT_EQ(faults_of(yaml), bad.faults) << bad.yaml;
  }
}

TEST(Faults, OfWholeFiles) {
  for (const Bad& bad : whole) EXPECT_EQ(faults_of(bad.yaml), bad.faults) << bad.yaml;
}

TEST(Faults, BytesThatAreNoText) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(faults_of("version: 1\n \0"sv),
            "2:2: byte '\\x00' is a control character; expected text in UTF-8");
  EXPECT_EQ(faults_of("version: \x1b[31m"),
            "1:10: byte '\\x1b' is a control character; expected text in UTF-8");
  for (const std::string_view broken :
       {"\x80"sv, "\xc0\x80"sv, "\xc3"sv, "\xc3("sv, "\xe0\x80\x80"sv, "\xed\xa0\x80"sv,
        "\xe2\x82"sv, "\xf0\x80\x80\x80"sv, "\xf4\x90\x80\x80"sv, "\xff\xfe"sv}) {
    EXPECT_NE(faults_of(std::string("# ").append(broken)).find(" is not UTF-8"), std::string::npos);
  }
}

TEST(Faults, NothingUnescapedIsQuoted) {
  const std::string faults =
      faults_of("version: 1\npolicies: []\n\"\\e[31m\\n\\u009b\": 1\nreport: \"\\0\"\n");
  for (const char c : faults) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e));
  EXPECT_NE(faults.find("'\\x1b[31m\\x0a\\xc2\\x9b'"), std::string::npos) << faults;
}

TEST(Faults, LongTextIsCut) {
  const std::string faults = faults_of("version: " + std::string(100'000, 'x'));
  EXPECT_LT(faults.size(), 300U);
}

TEST(Faults, NamesOfHeadersAreNotTooLongForTheLibrary) {
  const auto faults_with = [](std::size_t size) {
    const std::string name(size, 'x');
    return faults_of(
        "version: 1\npolicies:\n  - {name: a, quota: 1, window: 1s, key: header:" + name +
        ", match: {header: {" + name + ": y}}, cost: {request-header: " + name + "}}\n");
  };
  EXPECT_EQ(faults_with(255), "none");
  const std::string faults = faults_with(256);
  EXPECT_EQ(std::ranges::count(faults, '\n'), 2) << faults;
}

TEST(Faults, AfterTheFirstThousandOnlyTheirNumber) {
  std::string yaml = "version: 1\npolicies: []\n";
  for (int i = 0; i < 1500; ++i) yaml += "k" + std::to_string(i) + ": 1\n";
  const Loaded loaded = load_text(yaml, "f");
  ASSERT_FALSE(loaded);
  ASSERT_EQ(loaded.error().size(), 1001U);
  EXPECT_EQ(loaded.error()[999].line, 1002U);
  EXPECT_EQ(loaded.error().back().text(), "f: and 500 more faults");
}

// Beyond those that are listed, no similar name is searched: it would take minutes.
TEST(Faults, ManyUnknownNamesAmongManyPolicies) {
  std::string yaml = "version: 1\npolicies:\n";
  for (int i = 0; i < 10'000; ++i) {
    const std::string n = std::to_string(i);
    yaml += "  - {name: p" + n + ", quota: 1, window: 1, match: {path: /" + n + "}, unless: [q" +
            n + ", q, q, q, q, q, q, q, q, pp" + n + "]}\n";
  }
  const Loaded loaded = load_text(yaml, "f");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error()[9].what, "unless 'pp0' names no policy; did you mean 'p0'?");
  EXPECT_EQ(loaded.error().back().text(), "f: and 99000 more faults");
}

TEST(Faults, MorePoliciesThanARequestMayPass) {
  std::string yaml = "version: 1\npolicies:\n";
  for (int i = 0; i < 130; ++i) {
    yaml += "  - {name: p" + std::to_string(i) + ", quota: 1, window: 1}\n";
  }
  EXPECT_EQ(faults_of(yaml),
            "131:12: policy 129 that applies to every request; expected at most 128 without match");
}

TEST(Faults, AliasesDoNotMultiply) {
  // Each list names the one before it ten times: ten thousand million values in all.
  std::string yaml = "version: 1\nl0: &l0 [x]\n";
  for (int i = 1; i <= 10; ++i) {
    const std::string before = "*l" + std::to_string(i - 1);
    const std::string self = "l" + std::to_string(i);
    yaml += self + ": &" + self + " [" + before;
    for (int n = 0; n < 9; ++n) yaml += ", " + before;
    yaml += "]\n";
  }
  EXPECT_EQ(faults_of(yaml).substr(0, 25), "8:50: too many values; ex");
}

TEST(Faults, AFaultThatAliasesRepeatIsListedOnce) {
  EXPECT_EQ(faults_of("version: 1\npolicies:\n"
                      "  - {name: a, quota: 1, window: 1s, match: &m [{hots: x}]}\n"
                      "  - {name: b, quota: 1, window: 1s, match: *m}\n"),
            "3:49: unknown key 'hots' in an entry of match; did you mean 'host'?");
}

TEST(Faults, DeepNestingIsRefused) {
  for (const char* open : {"[", "{a: ", "- ", "? "}) {
    std::string yaml = "version: 1\npolicies:\n ";
    for (int i = 0; i < 100'000; ++i) yaml += open;
    EXPECT_NE(faults_of(yaml).find("nested too deeply"), std::string::npos) << open;
  }
}

TEST(Faults, HugeFilesAreNotRead) {
  EXPECT_EQ(faults_of(std::string(yaml::bytes_max + 1, '#')),
            " larger than 16 MiB; expected a smaller file");
}

TEST(Faults, FilesThatCannotBeRead) {
  const Loaded missing = load_file("/nonexistent/policy.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().front().text(),
            "/nonexistent/policy.yaml: can't be read: No such file or directory; expected a policy "
            "file");
  const Loaded directory = load_file("/tmp");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().front().text(), "/tmp: is no regular file; expected a policy file");
}

TEST(Faults, APipeIsRefusedAndNotWaitedFor) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("policies.yaml");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const Loaded loaded = load_file(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().front().text(), path + ": is no regular file; expected a policy file");
}

TEST(Faults, TooManyIdsAreRefused) {
  std::string yaml =
      "version: 1\npolicies: [{name: p, quota: 1, window: 1, key: [host], overrides: [\n{quota: 2, "
      "ids: [\n";
  for (int i = 0; i < 250'000; ++i) yaml += std::to_string(i) + ",\n";
  EXPECT_EQ(
      faults_of(yaml + "a, b, c]}, {quota: 3, ids: [d]}]}]\n"),
      "250004:1: one more id after 250000; expected at most so many in the overrides of a "
      "policy\n250004:29: one more id after 250000; expected at most so many in the overrides "
      "of a policy");
}

TEST(Faults, BeginWithTheNameOfTheFile) {
  char path[] = "/tmp/headgate-policy-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "version: 3\npolicies: []\n", 24), 24);
  close(fd);
  const Loaded loaded = load_file(path);
  std::remove(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().front().text(),
            std::string(path) + ":1:10: version '3' is not known; expected 1");
}

}  // namespace
}  // namespace headgate::policy
