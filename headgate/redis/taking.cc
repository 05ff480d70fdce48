#include "headgate/redis/taking.h"

#include <algorithm>
#include <utility>

#include "headgate/redis/key.h"

namespace headgate::redis {

void Taking::begin(Exact& exact, const Options& options) {
  exact_ = &exact;
  clock_ = options.clock;
  open_ = bundles_.size();
  splits_.resize(bundles_.size());
  for (std::size_t i = 0; i < bundles_.size(); ++i) split(i, options);
  if (open_ == 0) return complete();
  for (std::size_t i = 0; i < bundles_.size(); ++i) decide(i, splits_[i].parts, &Taking::decided);
}

std::shared_ptr<Part> Taking::new_part(std::uint16_t slot) const {
  auto part = std::make_shared<Part>();
  part->slot = slot;
  if (clock_ == Clock::caller) part->given = given_;
  part->is_awaited = [self = shared_from_this()] { return !self->is_complete(); };
  return part;
}

// One part per slot. Charges without a state are in the first one.
void Taking::split(std::size_t bundle, const Options& options) {
  Split& split = splits_[bundle];
  for (const store::Charge& charge : bundles_[bundle].charges) {
    std::string key = redis_key(options.prefix, *charge.law, charge.key);
    const bool anywhere = key.empty() || !options.cluster;
    const std::uint16_t slot = anywhere ? 0 : slot_of(key);
    auto part = std::find_if(split.parts.begin(), split.parts.end(),
                             [&](const auto& other) { return anywhere || other->slot == slot; });
    if (part == split.parts.end()) {
      part = split.parts.insert(part, new_part(slot));
    }
    split.part_of.push_back(static_cast<std::size_t>(part - split.parts.begin()));
    (*part)->add(charge, std::move(key));
  }
}

void Taking::decide(std::size_t bundle, const std::vector<std::shared_ptr<Part>>& parts,
                    void (Taking::*then)(std::size_t bundle)) {
  if (parts.empty()) return (this->*then)(bundle);
  splits_[bundle].open = parts.size();
  for (const std::shared_ptr<Part>& part : parts) {
    part->done = [self = shared_from_this(), bundle, then] {
      if (self->is_complete_) return;
      if (--self->splits_[bundle].open == 0) (self.get()->*then)(bundle);
    };
  }
  // A copy: the last decision replaces `parts`.
  for (const std::shared_ptr<Part>& part : std::vector(parts)) exact_->decide(part);
}

void Taking::decided(std::size_t bundle) {
  const auto& parts = splits_[bundle].parts;
  const auto all = [&](Part::Outcome outcome) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const auto& part) { return part->outcome == outcome; });
  };
  if (all(Part::Outcome::admitted)) return write(bundle, true);
  if (all(Part::Outcome::denied)) return write(bundle, false);
  if (all(Part::Outcome::undecided)) return close(bundle);
  give_back(bundle);
}

// Another slot has denied, or could not be reached: gives back what the slots took that admitted,
// and shows what is left there.
void Taking::give_back(std::size_t bundle) {
  Split& split = splits_[bundle];
  std::vector<std::shared_ptr<Part>> parts;
  for (std::shared_ptr<Part>& part : split.parts) {
    if (part->outcome != Part::Outcome::admitted) continue;
    auto back = new_part(part->slot);
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
    parts.push_back(std::move(back));
  }
  decide(bundle, parts, &Taking::given_back);
}

void Taking::given_back(std::size_t bundle) {
  const auto& parts = splits_[bundle].parts;
  const bool denied = std::none_of(parts.begin(), parts.end(), [](const auto& part) {
    return part->outcome == Part::Outcome::undecided;
  });
  if (denied) return write(bundle, false);
  close(bundle);
}

void Taking::write(std::size_t bundle, bool admitted) {
  const Split& split = splits_[bundle];
  std::vector<std::size_t> next(split.parts.size());
  for (std::size_t i = 0; i < split.part_of.size(); ++i) {
    const std::size_t part = split.part_of[i];
    bundles_[bundle].decisions[i] = split.parts[part]->decisions[next[part]++];
  }
  bundles_[bundle].admitted = admitted;
  bundles_[bundle].undecided = false;
  if (now_ != nullptr) {
    for (const auto& part : split.parts) *now_ = std::max(now_->value_or(part->now), part->now);
  }
  close(bundle);
}

void Taking::close(std::size_t bundle) {
  splits_[bundle] = {};
  if (--open_ == 0) complete();
}

void Taking::complete() noexcept {
  if (is_complete_) return;
  is_complete_ = true;
  splits_.clear();
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
