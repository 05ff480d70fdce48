#include "headgate/redis/part.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "headgate/redis/all_or_none.h"
#include "headgate/redis/linear_args.h"

namespace headgate::redis {

namespace {

// A refund that says when the units were taken.
bool is_known_refund(const store::Charge& charge) noexcept {
  return charge.op == limit::Op::refund && charge.since != Instant{};
}

}  // namespace

void Part::add(const store::Charge& charge, std::string key) {
  if (charge.op == limit::Op::spend && std::holds_alternative<limit::Concurrency>(*charge.law)) {
    slots.push_back({charges.size(), charge.cost, *charge.law});
  }
  patient = patient || is_known_refund(charge);
  charges.push_back(charge);
  ways.push_back(key.empty()                        ? Way::here
                 : decided_by_script(charge, given) ? Way::scripted
                                                    : Way::swapped);
  keys.push_back(std::move(key));
}

bool Part::gives_back() const noexcept { return std::ranges::any_of(charges, is_known_refund); }

void Part::keep_charges() {
  laws.reserve(charges.size());
  for (std::size_t i = 0; i < charges.size(); ++i) {
    laws.push_back(*charges[i].law);
    charges[i].law = &laws.back();
    charges[i].key = keys[i];
    charges[i].shared = nullptr;
    if (!is_known_refund(charges[i])) {
      charges[i].op = limit::Op::peek;
      charges[i].cost = 0;
    }
  }
}

void Part::deny() {
  static const limit::Law closed = limit::Closed{};
  add({&closed, {}, 1}, {});
}

std::size_t Part::count(Way way) const noexcept {
  return static_cast<std::size_t>(std::count(ways.begin(), ways.end(), way));
}

void Part::decide(std::span<KeyState> states, Instant at) {
  now = at;
  decisions.resize(charges.size());
  const bool admitted = decide_all_or_none(charges, states, now, decisions);
  outcome = admitted ? Outcome::admitted : Outcome::denied;
  denying.assign(charges.size(), {});
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const bool lasts = charges[i].shared != nullptr && charges[i].shared->denials_last;
    if (lasts && !decisions[i].admitted) denying[i] = states[i].bytes();
  }
}

bool is_patient(std::span<const std::shared_ptr<Part>> parts) noexcept {
  return std::ranges::any_of(parts, [](const auto& part) { return part->patient; });
}

}  // namespace headgate::redis
