#include "headgate/server/receipt.h"

#include <algorithm>
#include <cstdint>

#include "headgate/net/spoe_data.h"

namespace headgate::server {
namespace {

// The first byte, of this form:
//
//   form | taken | grant * 2 + in_outage | quota | window | cost | remaining | key | grant ...
//
// Numbers are varints, times are two of them (the upper and the lower 64 bits), and the key follows
// its length. So a later form is not taken for this one.
constexpr std::uint8_t form = 3;

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

// Returns the policy's name at the beginning of a store key, after its length: one byte, because
// names are short.
std::string_view name_of(std::string_view key) noexcept {
  return key.empty() ? key : key.substr(1, static_cast<std::uint8_t>(key.front()));
}

// Returns the grant of this quota, which was at `index`: overrides come and go. A unit of another
// quota would be another share of it. A slot is a slot under every quota. nullptr: there is none.
const policy::Grant* grant_of(const policy::Policy& policy, std::uint64_t index,
                              const limit::Quota& quota) noexcept {
  const auto& grants = policy.grants;
  const auto is_it = [&](const policy::Grant& grant) {
    return !grant.unlimited && grant.quota == quota;
  };
  if (index < grants.size() && is_it(grants[index])) return &grants[index];
  const auto found = std::find_if(grants.begin(), grants.end(), is_it);
  if (found != grants.end()) return &*found;
  return policy.holds_slots() && !grants.front().unlimited ? &grants.front() : nullptr;
}

}  // namespace

void append_receipt(std::span<const gate::Due> dues, Instant taken, std::string& out) {
  out.push_back(static_cast<char>(form));
  append_time(taken.ns, out);
  for (const gate::Due& due : dues) {
    const auto grant = static_cast<std::uint64_t>(due.grant - due.policy->grants.data());
    net::append_spoe_varint(out, grant * 2 + (due.in_outage ? 1 : 0));
    net::append_spoe_varint(out, due.grant->quota.units);
    append_time(due.grant->quota.window, out);
    net::append_spoe_varint(out, due.cost);
    net::append_spoe_varint(out, due.remaining);
    net::append_spoe_text(out, due.key);
  }
}

std::optional<Receipt> Receipt::read(std::string_view bytes,
                                     const policy::PolicySet& policies) noexcept {
  net::SpoeCursor cursor(bytes);
  if (cursor.byte() != form) return std::nullopt;
  const auto taken = read_time(cursor);
  if (!taken) return std::nullopt;
  Receipt receipt;
  receipt.taken_.ns = *taken;
  for (std::size_t i = 0; !cursor.at_end(); ++i) {
    const auto mixed = cursor.varint();
    const auto units = mixed ? cursor.varint() : std::nullopt;
    const auto window = units ? read_time(cursor) : std::nullopt;
    const auto cost = window ? cursor.varint() : std::nullopt;
    const auto remaining = cost ? cursor.varint() : std::nullopt;
    const auto key = remaining ? cursor.text() : std::nullopt;
    if (!key || i == receipt.dues_.size()) return std::nullopt;
    const policy::Policy* const policy = policies.find(name_of(*key));
    const policy::Grant* const grant =
        policy == nullptr ? nullptr : grant_of(*policy, *mixed / 2, {*units, *window});
    if (grant == nullptr) {
      if (!receipt.gone_) receipt.gone_ = name_of(*key);
      continue;
    }
    receipt.dues_[receipt.count_++] = {
        policy, grant, *key, std::min(*cost, limit::Quota::cost_max), *mixed % 2 == 1, *remaining};
  }
  return receipt;
}

}  // namespace headgate::server
