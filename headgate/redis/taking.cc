#include "headgate/redis/taking.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "headgate/redis/key.h"

namespace headgate::redis {
namespace {

// Under a clock of the caller nothing is taken ahead: a lease needs that of Redis.
bool is_leased(const store::Charge& charge, const Options& options) noexcept {
  return charge.shared != nullptr && charge.shared->leased > 0 && options.clock == Clock::redis;
}

// Of a charge that Redis' module has decided: whether it is denied, and no unit comes back before
// the wait is over. The waits of the exponential law are whole seconds, rounded up.
bool is_known_to_last(const store::Charge& charge, const limit::Decision& decision) noexcept {
  const bool lasts = charge.shared != nullptr && charge.shared->denials_last;
  return lasts && !decision.admitted && charge.cost == 1 &&
         !std::holds_alternative<limit::Exponential>(*charge.law);
}

// Whether what is remembered of the key is over: of what was admitted, denials under another law.
bool ends_denials(const store::Charge& charge, Part::Outcome outcome) noexcept {
  if (charge.op != limit::Op::spend) return corrects(charge.op);
  const bool may_have_some = charge.shared != nullptr && charge.shared->denials_last;
  return may_have_some && outcome == Part::Outcome::admitted && charge.cost > 0;
}

// Whether a law without a state denies.
bool is_denied_for_good(std::span<const store::Charge> charges) noexcept {
  return std::any_of(charges.begin(), charges.end(), [](const store::Charge& charge) {
    return std::holds_alternative<limit::Closed>(*charge.law) && charge.op == limit::Op::spend &&
           charge.cost > 0;
  });
}

}  // namespace

void Taking::begin(const Deciders& deciders, const Options& options) {
  deciders_ = &deciders;
  clock_ = options.clock;
  // A copy: bundles that are decided at once are not undecided.
  std::pmr::vector<std::size_t> open(&memory_);
  for (std::size_t i = 0; i < bundles_.size(); ++i) {
    if (bundles_[i].undecided) open.push_back(i);
  }
  open_ = open.size();
  splits_.reserve(bundles_.size());
  for (std::size_t i = 0; i < bundles_.size(); ++i) splits_.emplace_back(&memory_);
  for (const std::size_t i : open) split(i, options);
  if (open_ == 0) return complete();
  is_beginning_ = true;
  for (const std::size_t i : open) {
    Parts leased(&memory_);
    for (Part* part : splits_[i].parts) {
      if (part->is_leased) leased.push_back(part);
    }
    decide(i, std::move(leased), &Taking::decided_leased);
  }
  is_beginning_ = false;
}

Part* Taking::new_part(std::size_t bundle, std::uint16_t slot) {
  Owner& owner = *this;  // emplace_front() has no access to the base
  Part& part = parts_.emplace_front(owner, bundle, &memory_);
  part.slot = slot;
  part.patient = patient_;
  if (clock_ == Clock::caller) part.given = given_;
  return &part;
}

// One part per leased charge, and one per slot for the others. Charges without a state are in the
// first one.
void Taking::split(std::size_t bundle, const Options& options) {
  Split& split = splits_[bundle];
  const bool denied = is_denied_for_good(bundles_[bundle].charges);
  for (const store::Charge& charge : bundles_[bundle].charges) {
    if (is_leased(charge, options)) {
      std::string key = leased_key(options.prefix, *charge.law, charge.key);
      Part* part = new_part(bundle, options.cluster ? slot_of(key) : std::uint16_t{0});
      part->is_leased = true;
      part->add(charge, std::move(key));
      if (denied && charge.op == limit::Op::spend) part->charges[0].op = limit::Op::peek;
      split.part_of.push_back(split.parts.size());
      split.parts.push_back(part);
      continue;
    }
    std::string key = redis_key(options.prefix, *charge.law, charge.key);
    const bool anywhere = key.empty() || !options.cluster;
    const std::uint16_t slot = anywhere ? 0 : slot_of(key);
    auto part = std::find_if(split.parts.begin(), split.parts.end(), [&](const Part* other) {
      return !other->is_leased && (anywhere || other->slot == slot);
    });
    if (part == split.parts.end()) {
      part = split.parts.insert(part, new_part(bundle, slot));
    }
    split.part_of.push_back(static_cast<std::size_t>(part - split.parts.begin()));
    (*part)->add(charge, std::move(key));
  }
}

void Taking::decide(std::size_t bundle, Parts parts, void (Taking::*then)(std::size_t bundle)) {
  if (parts.empty()) return (this->*then)(bundle);
  splits_[bundle].open = parts.size();
  splits_[bundle].then = then;
  const bool flushes = !is_beginning_;
  const Deciders& deciders = *deciders_;
  const std::shared_ptr<Taking> self = shared_from_this();
  for (Part* part : parts) {
    std::shared_ptr<Part> shared(self, part);  // while a part is being decided, this call lives
    if (part->is_leased) {
      deciders.leasing.decide(std::move(shared));
    } else {
      deciders.exact.decide(std::move(shared));
    }
  }
  if (flushes) deciders.exact.flush();
}

void Taking::ended(const Part& part) {
  if (is_complete_) return;
  end_denials(part);
  remember_denials(part);
  Split& split = splits_[part.bundle];
  if (--split.open == 0) (this->*split.then)(part.bundle);
}

// If a leased charge is denied, the others take nothing.
void Taking::decided_leased(std::size_t bundle) {
  Parts others(&memory_);
  bool denied = false;
  bool undecided = false;
  for (Part* part : splits_[bundle].parts) {
    if (!part->is_leased) {
      others.push_back(part);
      continue;
    }
    denied |= part->outcome == Part::Outcome::denied;
    undecided |= part->outcome == Part::Outcome::undecided;
  }
  if (undecided) return decided(bundle);
  for (Part* part : others) {
    if (denied) part->deny();
  }
  decide(bundle, std::move(others), &Taking::decided);
}

void Taking::decided(std::size_t bundle) {
  const Parts& parts = splits_[bundle].parts;
  const auto all = [&](Part::Outcome outcome) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Part* part) { return part->outcome == outcome; });
  };
  if (all(Part::Outcome::admitted)) return write(bundle, true);
  if (all(Part::Outcome::denied)) return write(bundle, false);
  if (all(Part::Outcome::undecided)) return close();
  give_back(bundle);
}

// Another slot has denied, or could not be reached: gives back what the slots took that admitted,
// and shows what is left there.
void Taking::give_back(std::size_t bundle) {
  Split& split = splits_[bundle];
  Parts parts(&memory_);
  for (Part*& part : split.parts) {
    if (part->outcome != Part::Outcome::admitted) continue;
    if (part->is_leased) {
      deciders_->leasing.give_back(*part);
      continue;
    }
    part->slots.clear();  // they are given back here
    Part* back = new_part(bundle, part->slot);
    for (std::size_t i = 0; i < part->charges.size(); ++i) {
      store::Charge charge = part->charges[i];
      if (charge.op == limit::Op::spend) {
        charge.op = limit::Op::refund;
        charge.since = part->now;
      } else {
        // Refunds and debits stay; the peek shows what they left.
        charge.op = limit::Op::peek;
        charge.cost = 0;
      }
      back->add(charge, part->keys[i]);
    }
    part = back;
    parts.push_back(back);
  }
  decide(bundle, std::move(parts), &Taking::given_back);
}

void Taking::end_denials(const Part& part) {
  for (const store::Charge& charge : part.charges) {
    if (ends_denials(charge, part.outcome)) deciders_->denials.forget(charge.key);
  }
}

// What later calls need not ask for. To be called with the reply for the part: replies come in the
// order of Redis' decisions, so that a refund that ends the denial is seen after it.
void Taking::remember_denials(const Part& part) {
  if (part.outcome != Part::Outcome::denied) return;
  for (std::size_t i = 0; i < part.charges.size(); ++i) {
    const store::Charge& charge = part.charges[i];
    Denials::Denial denial{{}, part.now, part.asked, {}};
    if (part.in_module) {
      if (!is_known_to_last(charge, part.decisions[i])) continue;
      denial.wait = part.decisions[i].wait;
    } else {
      if (i >= part.denying.size() || part.denying[i].empty()) continue;
      denial.state = part.denying[i];
    }
    denial.answered = BootClock::now();
    deciders_->denials.remember(charge, std::move(denial));
  }
}

void Taking::given_back(std::size_t bundle) {
  const Parts& parts = splits_[bundle].parts;
  const bool denied = std::none_of(parts.begin(), parts.end(), [](const Part* part) {
    return part->outcome == Part::Outcome::undecided;
  });
  if (denied) return write(bundle, false);
  close();
}

void Taking::write(std::size_t bundle, bool admitted) {
  const Split& split = splits_[bundle];
  std::pmr::vector<std::size_t> next(split.parts.size(), &memory_);
  for (std::size_t i = 0; i < split.part_of.size(); ++i) {
    const std::size_t part = split.part_of[i];
    bundles_[bundle].decisions[i] = split.parts[part]->decisions[next[part]++];
  }
  bundles_[bundle].admitted = admitted;
  bundles_[bundle].undecided = false;
  if (now_ != nullptr) {
    for (const Part* part : split.parts) *now_ = std::max(now_->value_or(part->now), part->now);
  }
  close();
}

void Taking::close() {
  if (--open_ == 0) complete();
}

// At the deadline. Slots that were taken are released, and refunds go on: nobody else knows of
// them.
void Taking::leave() noexcept {
  for (Part& part : parts_) {
    if (part.is_leased || !bundles_[part.bundle].undecided) continue;
    try {
      if (!part.is_over && part.gives_back()) part.keep_charges();
      if (part.is_over) deciders_->exact.release(part);
    } catch (const std::bad_alloc&) {  // slots are free when their lease ends
    }
  }
}

const char* Taking::why_late() const {
  const auto part = std::ranges::find(parts_, false, &Part::is_over);
  return deciders_->exact.why_late(part == parts_.end() ? parts_.front() : *part);
}

void Taking::complete() noexcept {
  if (is_complete_) return;
  if (open_ > 0) leave();
  is_complete_ = true;
  if (now_ != nullptr && !*now_) *now_ = known_.now();
  if (done_.home == nullptr) return done_.call(done_.context);
  kept_ = shared_from_this();
  done_.home->post(*this);
}

// On the caller's thread.
void Taking::open() noexcept {
  const std::shared_ptr<Taking> self = std::move(kept_);
  done_.call(done_.context);
}

}  // namespace headgate::redis
