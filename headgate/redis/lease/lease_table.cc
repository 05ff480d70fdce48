#include "headgate/redis/lease/lease_table.h"

#include "headgate/base/random.h"

namespace headgate::redis {
namespace {

// Whether the lease is under the charge's law: policies may have changed.
bool fits(const LeaseTable::Entry& entry, const store::Charge& charge) noexcept {
  return LeaseTerms::make(*charge.law, charge.shared->leased) == entry.lease.terms();
}

}  // namespace

const std::string& LeaseTable::id() {
  std::call_once(id_chosen_, [this] { id_ = std::to_string(random_secret().k0); });
  return id_;
}

LeaseTable::Decided LeaseTable::decide(const store::Charge& charge,
                                       limit::Decision& decision) noexcept {
  using Found = Lease::Found;
  const bool spends = charge.op == limit::Op::spend && charge.cost > 0;
  if (!spends && charge.op != limit::Op::spend && charge.op != limit::Op::peek) return {};
  Decided decided;
  with(charge.key, [&](Entry& entry) {
    if (!fits(entry, charge)) return;
    Lease& lease = entry.lease;
    Lease::Time now;
    if (spends) {
      decided.found = lease.spend(charge.cost, BootClock::now, now);
      decided.becomes_low = lease.becomes_low(now);
      if (decided.found == Found::unknown) return;
      decision = lease.decision(charge, decided.found, now);
    } else {
      now = BootClock::now();
      if (!lease.is_fresh(now)) return;
      decision = lease.decision(charge, Found::unknown, now);
      decided.found = decision.admitted ? Found::admitted : Found::denied;
    }
  });
  return decided;
}

std::optional<limit::Decision> LeaseTable::denial(const store::Charge& charge) noexcept {
  std::optional<limit::Decision> denial;
  with(charge.key, [&](Entry& entry) {
    if (!fits(entry, charge)) return;
    const Lease::Time now = BootClock::now();
    if (entry.lease.denies(charge.cost, now)) {
      denial = entry.lease.decision(charge, Lease::Found::denied, now);
    }
  });
  return denial;
}

void LeaseTable::give_back(const store::Charge& charge) noexcept {
  if (charge.op != limit::Op::spend) return;
  with(charge.key, [&](Entry& entry) {
    if (fits(entry, charge)) entry.lease.give_back(charge.cost);
  });
}

}  // namespace headgate::redis
