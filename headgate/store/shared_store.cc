#include "headgate/store/shared_store.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <forward_list>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headgate::store {
namespace {

using limit::Decision;
using limit::OnOutage;
using limit::Op;

// Before the store key of what this machine counts alone during an outage. A store key begins with
// the length of a policy's name, which is never 0.
constexpr char outage_mark = '\0';

bool is_remote(const Charge& charge) noexcept {
  return charge.shared != nullptr && !charge.in_outage;
}

// Whether it can be denied.
bool can_be_denied(const Charge& charge) noexcept {
  return charge.op == Op::spend || charge.op == Op::peek;
}

// What is left to do without memory.
void limit_nothing(Bundle& bundle) noexcept {
  for (Decision& decision : bundle.decisions) decision = {.admitted = true};
  bundle.admitted = true;
  bundle.outage = true;
  bundle.undecided = true;
}

// Some charges of a bundle, which are taken together.
class SubBundle {
 public:
  // Room for `charges` charges and deny(), in `memory`. Copies are on the heap.
  SubBundle(std::size_t charges, std::pmr::memory_resource* memory)
      : charges_(memory), decisions_(memory), places_(memory) {
    if (charges == 0) return;
    charges_.reserve(charges + 1);
    decisions_.reserve(charges + 1);
    places_.reserve(charges);
  }

  // `place`: the charge's index in the whole bundle.
  void add(const Charge& charge, std::size_t place) noexcept {
    charges_.push_back(charge);
    decisions_.emplace_back();
    places_.push_back(place);
  }
  // Adds a charge that is always denied, so that the store takes nothing and shows what is left.
  void deny() noexcept {
    static const limit::Law closed = limit::Closed{};
    charges_.push_back({&closed, {}, 1});
    decisions_.emplace_back();
  }

  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  [[nodiscard]] std::span<Charge> charges() noexcept {
    return std::span(charges_).first(places_.size());
  }
  [[nodiscard]] Bundle bundle() noexcept { return {charges_, decisions_}; }
  // Whether each of its charges is admitted, as far as was decided.
  [[nodiscard]] bool admits_all() const noexcept {
    return std::all_of(decisions_.begin(),
                       decisions_.begin() + static_cast<std::ptrdiff_t>(places_.size()),
                       [](const Decision& decision) { return decision.admitted; });
  }
  void write_to(Bundle& whole) const noexcept {
    for (std::size_t i = 0; i < places_.size(); ++i) whole.decisions[places_[i]] = decisions_[i];
  }

 private:
  std::pmr::vector<Charge> charges_;
  std::pmr::vector<Decision> decisions_;
  std::pmr::vector<std::size_t> places_;
};

}  // namespace

// One call of take() with charges that machines share. Deletes itself when it is completed.
class SharedStore::Taking {
 public:
  // Takes nothing yet. May throw std::bad_alloc.
  Taking(SharedStore& store, std::span<Bundle> bundles, std::optional<Instant>& now,
         Completion done)
      : store_(store), now_(now), remote_now_(now), done_(done) {
    splits_.reserve(bundles.size());
    remote_bundles_.reserve(bundles.size());
    for (Bundle& bundle : bundles) add(bundle);
  }

  void begin() noexcept {
    for (Split& split : splits_) {
      if (split.remote.empty()) {
        split.bundle.admitted = take_here(split.here);
        split.here.write_to(split.bundle);
      } else {
        remote_bundles_.push_back(split.remote.bundle());
        remote_bundles_.back().patient = split.bundle.patient;
      }
    }
    if (remote_bundles_.empty()) return complete();
    store_.remote_.take(
        remote_bundles_, remote_now_,
        {[](void* of) noexcept { static_cast<Taking*>(of)->answered(); }, this, done_.home});
  }

 private:
  struct Split {
    Bundle& bundle;
    SubBundle here;
    SubBundle remote;
    std::optional<SubBundle> denied{};  // as `here`, if the table seemed to deny it
  };

  void add(Bundle& bundle) {
    const std::size_t count = bundle.charges.size();
    const auto remote = static_cast<std::size_t>(
        std::count_if(bundle.charges.begin(), bundle.charges.end(), is_remote));
    Split& split = splits_.emplace_back(
        Split{bundle, SubBundle(count - remote, &memory_), SubBundle(remote, &memory_)});
    for (std::size_t i = 0; i < count; ++i) {
      const Charge& charge = bundle.charges[i];
      if (is_remote(charge)) {
        split.remote.add(in_remote_time(charge), i);
      } else {
        split.here.add(charge.in_outage ? alone(charge) : charge, i);
      }
    }
    if (!split.remote.empty() && !split.here.empty()) look(split);
  }

  // If the table would not admit its charges, the remote store is not to take anything.
  void look(Split& split) {
    SubBundle peeks = split.here;
    for (Charge& charge : peeks.charges()) {
      if (!can_be_denied(charge)) return;  // refunds and debits are always made
      charge.op = Op::peek;
    }
    if (take_here(peeks)) return;
    split.remote.deny();
    split.denied = std::move(peeks);
  }

  // Slots and the records of a moving window are identified by when they were taken. The clocks are
  // not exactly as far apart as then. So a slot of the same key is released whose lease ends at
  // almost the same time.
  [[nodiscard]] Charge in_remote_time(Charge charge) const noexcept {
    if (charge.since != Instant{}) {
      charge.since.ns += store_.remote_.now().ns - store_.table_.now().ns;
      look_before(charge);
    }
    return charge;
  }

  // Of a moving window, the units that come back first are given back, from a time at which those
  // that are meant had not been taken yet, whatever is known of the clocks. Later ones would be
  // another request's, and would come back too early.
  static void look_before(Charge& charge) noexcept {
    constexpr Nanos uncertain = nanos_per_second;
    if (charge.op != Op::refund || !std::holds_alternative<limit::MovingWindow>(*charge.law))
      return;
    charge.since.ns = std::max<Nanos>(charge.since.ns - uncertain, 1);
  }

  // The charge as this machine counts it alone. A refund of what the remote store took only shows
  // what is left. One that does not say when it was taken gives back what was taken here, if any.
  Charge alone(const Charge& charge) {
    std::string& key = keys_.emplace_front();
    key.reserve(1 + charge.key.size());
    key += outage_mark;
    key += charge.key;
    Charge own = charge;
    own.law = &charge.shared->outage_law;
    own.key = key;
    own.key_hash = 0;
    if (charge.op == Op::refund && !charge.in_outage && charge.since != Instant{}) {
      own.op = Op::peek;
      own.cost = 0;
    }
    return own;
  }

  // Returns whether all are admitted.
  bool take_here(SubBundle& charges) noexcept {
    Bundle bundle = charges.bundle();
    store_.table_.take({&bundle, 1}, now_, {});
    return bundle.admitted;
  }

  // The remote store has decided, or not.
  void answered() noexcept {
    // The table denies what the remote store has taken. On the heap: it outlives this.
    std::vector<Split*> lost;
    std::size_t next = 0;
    bool decides = false;
    bool undecided = false;
    for (Split& split : splits_) {
      if (split.remote.empty()) continue;
      const Bundle& remote = remote_bundles_[next++];
      decides |= can_be_denied(remote.charges[0]);
      undecided |= remote.undecided;
      try {
        if (remote.undecided) {
          decide_alone(split);
        } else if (!join(split, remote)) {
          lost.push_back(&split);
        }
      } catch (const std::bad_alloc&) {
        if (remote.undecided) limit_nothing(split.bundle);
      }
    }
    if (decides || undecided) store_.note(undecided);
    if (lost.empty() || !give_back(lost)) complete();
  }

  // Writes the decisions of both stores. Returns false if the remote store has to give back.
  bool join(Split& split, const Bundle& remote) noexcept {
    const bool admitted = remote.admitted;
    const bool remembered = remote.remembered;
    bool admitted_here = true;
    if (!split.here.empty()) {
      if (!admitted) split.here.deny();
      admitted_here = take_here(split.here);
      // What the table did not have at first may be there by now. But the remote store has taken
      // nothing.
      const bool is_late = split.denied && split.here.admits_all();
      (is_late ? *split.denied : split.here).write_to(split.bundle);
    }
    split.remote.write_to(split.bundle);
    split.bundle.admitted = admitted && admitted_here;
    split.bundle.remembered = remembered;
    return !admitted || admitted_here;
  }

  // Returns false if there is no memory: then the units stay spent.
  bool give_back(const std::vector<Split*>& lost) noexcept {
    try {
      remote_bundles_.clear();
      for (Split* split : lost) {
        for (Charge& charge : split->remote.charges()) {
          if (charge.op == Op::spend) {
            charge.op = Op::refund;
            charge.since = remote_now_.value_or(Instant{});
            look_before(charge);
          } else {
            charge.op = Op::peek;
            charge.cost = 0;
          }
        }
        remote_bundles_.push_back(split->remote.bundle());
        given_back_.push_back(split);
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    store_.remote_.take(
        remote_bundles_, remote_now_,
        {[](void* of) noexcept { static_cast<Taking*>(of)->given_back(); }, this, done_.home});
    return true;
  }

  void given_back() noexcept {
    for (std::size_t i = 0; i < given_back_.size(); ++i) {
      if (!remote_bundles_[i].undecided) given_back_[i]->remote.write_to(given_back_[i]->bundle);
    }
    complete();
  }

  // Decides without the remote store. May throw std::bad_alloc, before anything is taken.
  void decide_alone(Split& split) {
    Bundle& bundle = split.bundle;
    SubBundle here(bundle.charges.size(), &memory_);
    bool denied = false;
    for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
      const Charge& charge = bundle.charges[i];
      if (!is_remote(charge)) {
        here.add(charge.in_outage ? alone(charge) : charge, i);
      } else if (charge.shared->on_outage == OnOutage::local) {
        here.add(alone(charge), i);
      } else {
        const bool denies =
            charge.shared->on_outage == OnOutage::deny && charge.cost > 0 && can_be_denied(charge);
        bundle.decisions[i] = denies ? Decision{.wait = outage_wait} : Decision{.admitted = true};
        denied |= denies;
      }
    }
    if (denied) here.deny();
    bundle.admitted = (here.empty() || take_here(here)) && !denied;
    here.write_to(bundle);
    bundle.outage = true;
  }

  void complete() noexcept {
    if (!now_) now_ = store_.table_.now();
    const Completion done = done_;
    delete this;
    done.call(done.context);
  }

  SharedStore& store_;
  std::optional<Instant>& now_;
  // The remote store's moment; or at first a time that the caller gave, which stores with a clock
  // of their own ignore.
  std::optional<Instant> remote_now_;
  const Completion done_;
  // What a bundle of three charges needs: one piece of memory in place of nine.
  alignas(std::max_align_t) std::array<std::byte, 1536> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::forward_list<std::string> keys_;                // of alone()
  std::pmr::vector<Split> splits_{&memory_};           // one per bundle
  std::pmr::vector<Bundle> remote_bundles_{&memory_};  // those that the remote store takes
  std::pmr::vector<Split*> given_back_{&memory_};      // of remote_bundles_
};

void SharedStore::prefetch(std::span<Charge> charges) noexcept {
  for (Charge& charge : charges) {
    if (!is_remote(charge)) table_.prefetch({&charge, 1});
  }
}

void SharedStore::take(std::span<Bundle> bundles, std::optional<Instant>& now,
                       Completion done) noexcept {
  const bool is_here = std::all_of(bundles.begin(), bundles.end(), [](const Bundle& bundle) {
    return std::all_of(bundle.charges.begin(), bundle.charges.end(),
                       [](const Charge& charge) { return charge.shared == nullptr; });
  });
  if (is_here) return table_.take(bundles, now, done);
  try {
    std::make_unique<Taking>(*this, bundles, now, done).release()->begin();
  } catch (const std::bad_alloc&) {
    for (Bundle& bundle : bundles) limit_nothing(bundle);
    if (!now) now = table_.now();
    done.call(done.context);
  }
}

void SharedStore::note(bool undecided) noexcept {
  const auto at = Steady::now().time_since_epoch().count();
  constexpr auto calm =
      std::chrono::duration_cast<Steady::duration>(std::chrono::seconds(1)).count();
  if (undecided) {
    last_undecided_.store(at, std::memory_order_relaxed);
    if (!is_outage_.exchange(true)) observer_(true);
  } else if (is_outage_.load(std::memory_order_relaxed) &&
             at - last_undecided_.load(std::memory_order_relaxed) >= calm &&
             is_outage_.exchange(false)) {
    observer_(false);
  }
}

}  // namespace headgate::store
