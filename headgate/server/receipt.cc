#include "headgate/server/receipt.h"

#include <algorithm>
#include <cstdint>

#include "headgate/net/spoe_data.h"

namespace headgate::server {
namespace {

// The first byte, of this form:
//
//   form | table | to_wall | taken | grant * 2 + in_outage | algorithm | quota | cost | remaining
//        | key | grant ...
//
// The first two are those of TableTime. Numbers are varints, times are two of them (the upper and
// the lower 64 bits), and the key follows its length. A quota has its units, window, count and
// period. So a later form is not taken for this one.
constexpr std::uint8_t form = 4;
constexpr std::uint8_t form_max = 31;  // no text begins with such a byte

void append_time(Nanos time, std::string& out) {
  const auto ns = static_cast<u128>(time);
  net::append_spoe_varint(out, static_cast<std::uint64_t>(ns >> 64));
  net::append_spoe_varint(out, static_cast<std::uint64_t>(ns));
}

std::optional<Nanos> read_time(net::SpoeCursor& cursor) noexcept {
  const auto upper = cursor.varint();
  const auto lower = upper ? cursor.varint() : std::nullopt;
  if (!lower) return std::nullopt;
  return static_cast<Nanos>(static_cast<u128>(*upper) << 64 | *lower);
}

void append_quota(const limit::Quota& quota, std::string& out) {
  net::append_spoe_varint(out, quota.units);
  append_time(quota.window, out);
  net::append_spoe_varint(out, quota.count);
  append_time(quota.period, out);
}

std::optional<limit::Quota> read_quota(net::SpoeCursor& cursor) noexcept {
  const auto units = cursor.varint();
  const auto window = units ? read_time(cursor) : std::nullopt;
  const auto count = window ? cursor.varint() : std::nullopt;
  const auto period = count ? read_time(cursor) : std::nullopt;
  if (!period) return std::nullopt;
  return limit::Quota{*units, *window, *count, *period};
}

// What a receipt says of the quota that its units were taken from.
struct Source {
  std::uint64_t index;  // of the grant
  std::uint64_t algorithm;
  limit::Quota quota;
};

// Returns the policy's name at the beginning of a store key, after its length: one byte, because
// names are short.
std::string_view name_of(std::string_view key) noexcept {
  return key.empty() ? key : key.substr(1, static_cast<std::uint8_t>(key.front()));
}

// Returns the grant that the units were taken from: overrides come and go, and so change its index.
// A unit of another quota would be another share of it, and under another algorithm the units were
// never taken. A slot is a slot under every quota. nullptr: there is none.
const policy::Grant* grant_of(const policy::Policy& policy, const Source& source) noexcept {
  if (static_cast<std::uint64_t>(policy.terms.algorithm) != source.algorithm) return nullptr;
  const auto& grants = policy.grants;
  const auto is_it = [&](const policy::Grant& grant) {
    return !grant.unlimited && grant.quota == source.quota;
  };
  if (source.index < grants.size() && is_it(grants[source.index])) return &grants[source.index];
  const auto found = std::find_if(grants.begin(), grants.end(), is_it);
  if (found != grants.end()) return &*found;
  return policy.holds_slots() && !grants.front().unlimited ? &grants.front() : nullptr;
}

}  // namespace

void append_receipt(std::span<const gate::Due> dues, Instant taken, const TableTime& time,
                    std::string& out) {
  out.push_back(static_cast<char>(form));
  net::append_spoe_varint(out, time.table);
  append_time(time.to_wall, out);
  append_time(taken.ns, out);
  for (const gate::Due& due : dues) {
    const auto grant = static_cast<std::uint64_t>(due.grant - due.policy->grants.data());
    net::append_spoe_varint(out, grant * 2 + (due.in_outage ? 1 : 0));
    net::append_spoe_varint(out, static_cast<std::uint64_t>(due.policy->terms.algorithm));
    append_quota(due.grant->quota, out);
    net::append_spoe_varint(out, due.cost);
    net::append_spoe_varint(out, due.remaining);
    net::append_spoe_text(out, due.key);
  }
}

bool Receipt::is_of_other_version(std::string_view bytes) noexcept {
  if (bytes.empty()) return false;
  const auto its_form = static_cast<std::uint8_t>(bytes.front());
  return its_form != form && its_form >= 1 && its_form <= form_max;
}

std::optional<Receipt> Receipt::read(std::string_view bytes, const policy::PolicySet& policies,
                                     const TableTime& time) noexcept {
  net::SpoeCursor cursor(bytes);
  if (cursor.byte() != form) return std::nullopt;
  const auto table = cursor.varint();
  const auto to_wall = table ? read_time(cursor) : std::nullopt;
  const auto taken = to_wall ? read_time(cursor) : std::nullopt;
  if (!taken) return std::nullopt;
  Receipt receipt;
  receipt.taken_ = moment_of({*taken}, {*table, {}, *to_wall}, time);
  for (std::size_t i = 0; !cursor.at_end(); ++i) {
    const auto mixed = cursor.varint();
    const auto algorithm = mixed ? cursor.varint() : std::nullopt;
    const auto quota = algorithm ? read_quota(cursor) : std::nullopt;
    const auto cost = quota ? cursor.varint() : std::nullopt;
    const auto remaining = cost ? cursor.varint() : std::nullopt;
    const auto key = remaining ? cursor.text() : std::nullopt;
    if (!key || i == receipt.dues_.size()) return std::nullopt;
    if (i == 0) receipt.first_key_ = *key;
    const bool in_outage = *mixed % 2 == 1;
    receipt.is_of_outage_elsewhere_ |= in_outage && *table != time.table;
    const policy::Policy* const policy = policies.find(name_of(*key));
    const policy::Grant* const grant =
        policy == nullptr ? nullptr : grant_of(*policy, {*mixed / 2, *algorithm, *quota});
    if (grant == nullptr) {
      if (!receipt.gone_) receipt.gone_ = name_of(*key);
      continue;
    }
    receipt.dues_[receipt.count_++] = {
        policy, grant, *key, std::min(*cost, limit::Quota::cost_max), in_outage, *remaining};
  }
  return receipt;
}

}  // namespace headgate::server
