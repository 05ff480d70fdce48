#include "headgate/server/receipt.h"

#include <algorithm>
#include <cstdint>

#include "headgate/net/spoe_data.h"

namespace headgate::server {
namespace {

// The first byte, of this form:
//
//   form | taken, upper and lower 64 bits | grant * 2 + in_outage | cost | remaining | key | grant
//   ...
//
// Numbers are varints, the key follows its length. So a later form is not taken for this one.
constexpr std::uint8_t form = 2;

// Returns the policy whose name is at the beginning of a store key, after its length: one byte,
// because names are short.
const policy::Policy* policy_of(std::string_view key, const policy::PolicySet& policies) noexcept {
  if (key.empty()) return nullptr;
  return policies.find(key.substr(1, static_cast<std::uint8_t>(key.front())));
}

}  // namespace

void append_receipt(std::span<const gate::Due> dues, Instant taken, std::string& out) {
  const auto ns = static_cast<u128>(taken.ns);
  out.push_back(static_cast<char>(form));
  net::append_spoe_varint(out, static_cast<std::uint64_t>(ns >> 64));
  net::append_spoe_varint(out, static_cast<std::uint64_t>(ns));
  for (const gate::Due& due : dues) {
    const auto grant = static_cast<std::uint64_t>(due.grant - due.policy->grants.data());
    net::append_spoe_varint(out, grant * 2 + (due.in_outage ? 1 : 0));
    net::append_spoe_varint(out, due.cost);
    net::append_spoe_varint(out, due.remaining);
    net::append_spoe_text(out, due.key);
  }
}

std::optional<Receipt> Receipt::read(std::string_view bytes,
                                     const policy::PolicySet& policies) noexcept {
  net::SpoeCursor cursor(bytes);
  if (cursor.byte() != form) return std::nullopt;
  const auto upper = cursor.varint();
  const auto lower = upper ? cursor.varint() : std::nullopt;
  if (!lower) return std::nullopt;
  Receipt receipt;
  receipt.taken_.ns = static_cast<Nanos>(static_cast<u128>(*upper) << 64 | *lower);
  for (std::size_t i = 0; !cursor.at_end(); ++i) {
    const auto mixed = cursor.varint();
    const auto cost = mixed ? cursor.varint() : std::nullopt;
    const auto remaining = cost ? cursor.varint() : std::nullopt;
    const auto key = remaining ? cursor.text() : std::nullopt;
    if (!key || i == receipt.dues_.size()) return std::nullopt;
    const policy::Policy* const policy = policy_of(*key, policies);
    const std::uint64_t grant = *mixed / 2;
    if (policy == nullptr || grant >= policy->grants.size()) {
      receipt.is_whole_ = false;
      continue;
    }
    receipt.dues_[receipt.count_++] = {policy,
                                       &policy->grants[grant],
                                       *key,
                                       std::min(*cost, limit::Quota::cost_max),
                                       *mixed % 2 == 1,
                                       *remaining};
  }
  return receipt;
}

}  // namespace headgate::server
