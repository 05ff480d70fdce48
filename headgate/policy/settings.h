// The policy file's settings beside its policies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headgate/field/form.h"
#include "headgate/policy/address/address.h"

namespace headgate::policy {

struct ClientAddress {
  std::vector<AddressBlock> trusted_proxies;
  bool trust_unix = false;    // `unix:` among them: peers that come through a Unix socket
  unsigned ipv6_prefix = 64;  // IPv6 clients count as one per prefix
};

enum class PartitionKey : std::uint8_t { omit, opaque, plain };
enum class Report : std::uint8_t { all, closest };
enum class ReportWhen : std::uint8_t { always, denied, below };

struct TableSettings {
  std::size_t memory = std::size_t{64} << 20;  // [bytes], everything included
  std::string file;                            // empty: memory alone
};

struct Settings {
  ClientAddress client_address;
  std::vector<field::Form> fields{field::Form::ratelimit};  // none has a field of another
  bool unix_reset = false;  // X-RateLimit-Reset is a Unix time [s], not seconds from now
  PartitionKey partition_key = PartitionKey::omit;
  unsigned jitter_percent = 0;  // 0..50, added to Retry-After and t on denials
  Report report = Report::all;
  ReportWhen report_when = ReportWhen::always;
  unsigned report_below_percent = 0;  // with ReportWhen::below: of some policy's quota
  bool problem_details = true;
  std::string upstream_prefix = "gateway-";  // renames our members that clash with upstream's
  TableSettings table;
};

}  // namespace headgate::policy
