// The settings of a policy file: everything but its policies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/server_address.h"
#include "headgate/field/form.h"
#include "headgate/policy/address/address.h"

namespace headgate::policy {

struct ClientAddress {
  std::vector<AddressBlock> trusted_proxies;
  bool trust_unix = false;    // the list has `unix:`: peers of Unix sockets are trusted
  unsigned ipv6_prefix = 64;  // all IPv6 addresses with the same prefix count as one client. A /64
                              // is what one client usually has
};

enum class PartitionKey : std::uint8_t { omit, opaque, plain };
enum class Report : std::uint8_t {
  few,  // all of them if they are at most report_few_max, else the closest
  all,
  closest,
};
// The fields of so many policies take less than half a KiB.
inline constexpr std::size_t report_few_max = 8;
enum class ReportWhen : std::uint8_t { always, denied, below };

struct TableSettings {
  std::size_t memory = std::size_t{64} << 20;  // size of the whole table [bytes]
  std::string file;                            // path of its file; empty: no file
};

struct RedisTls {
  std::string ca;           // path; empty: the authorities that the system trusts
  std::string cert;         // path; empty: none
  std::string key;          // path; empty as `cert`
  std::string server_name;  // whom the certificate must name; empty: the host of the address

  friend bool operator==(const RedisTls&, const RedisTls&) = default;
};

struct RedisSettings {
  std::vector<ServerAddress> nodes;  // one; with `cluster` or `sentinel` at least one
  bool cluster = false;
  std::string sentinel;       // by what name the nodes, which are sentinels, know the primary
  std::string user;           // empty: the default user
  std::string password_file;  // path; empty: no password
  std::optional<RedisTls> tls;
  Nanos timeout = 50'000'000;  // how long a request waits for Redis at most [ns], >= 1 ms
  std::string prefix = "hg:";  // of every key

  friend bool operator==(const RedisSettings&, const RedisSettings&) = default;
};

enum class LoggedDecisions : std::uint8_t {
  denied,  // and those that a shadow policy would have denied
  all,
};
enum class LogFormat : std::uint8_t { json, text };

// The log of decisions that doors write.
struct DecisionLogSettings {
  std::string file;  // path, or "-": standard output
  LoggedDecisions which = LoggedDecisions::denied;
  unsigned sample_percent = 100;  // 1..100: so many of them, chosen at random
  LogFormat format = LogFormat::json;
  PartitionKey key = PartitionKey::opaque;  // plain: also the client's address
};

struct Settings {
  ClientAddress client_address;
  std::vector<field::Form> fields{field::Form::ratelimit};  // no two of them share a field name
  bool unix_reset = false;  // X-RateLimit-Reset is a Unix time [s], not seconds from now
  PartitionKey partition_key = PartitionKey::omit;
  unsigned jitter_percent = 0;  // 0..50, added to Retry-After and t on denials
  Report report = Report::few;
  ReportWhen report_when = ReportWhen::always;
  unsigned report_below_percent = 0;  // of ReportWhen::below: fields are written if less than this
                                      // share of some policy's quota remains
  bool problem_details = true;
  bool expose_headers = false;   // pages of other origins may read the fields (CORS)
  bool count_preflights = true;  // requests by which browsers ask whether a page may send another
  std::string upstream_prefix = "gateway-";  // put before the name of a policy that the upstream's
                                             // fields already contain
  TableSettings table;
  std::optional<RedisSettings> redis;            // std::nullopt: the table alone
  std::optional<DecisionLogSettings> decisions;  // std::nullopt: none
  std::string allow_text;  // which requests no policy counts, for people; empty: there are none
};

}  // namespace headgate::policy
