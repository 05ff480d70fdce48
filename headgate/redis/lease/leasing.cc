#include "headgate/redis/lease/leasing.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headgate::redis {
namespace {

using Found = Lease::Found;
using limit::Op;

bool spends(const store::Charge& charge) noexcept {
  return charge.op == Op::spend && charge.cost > 0;
}

bool refunds(const Part& part) noexcept { return part.charges[0].op == Op::refund; }

void end(Part& part, Found found, const limit::Decision& decision, Instant now) {
  part.now = now;
  part.decisions = {decision};
  part.end(found == Found::admitted ? Part::Outcome::admitted : Part::Outcome::denied);
}

void add(std::vector<LeaseGroup>& groups, std::uint64_t cost) {
  if (groups.empty() || groups.back().cost != cost) groups.push_back({cost, 0});
  ++groups.back().requests;
}

}  // namespace

class Leasing::AskCall : public Call {
 public:
  AskCall(Leasing& leasing, std::string key) : leasing_(leasing), key_(std::move(key)) {}

  void answer(std::size_t, const net::RespReply& reply) override {
    const auto read = lease_reply(reply);
    if (!read) return fail("Redis sent a reply of an unexpected form");
    leasing_.answered(key_, *read);
  }
  void fail(const std::string& why) override { leasing_.failed(key_, why); }

 private:
  Leasing& leasing_;
  const std::string key_;
};

Leasing::Leasing(boost::asio::io_context& io, Router& router, KnownClock& clock, LeaseTable& table,
                 const Options& options, LastFault& fault)
    : router_(router), clock_(clock), table_(table), options_(options), fault_(fault), timer_(io) {
  const BootClock::time_point now = BootClock::now();
  table_.for_each([&](const std::string& key, LeaseTable::Entry& entry) {
    if (entry.lease.is_asking()) entry.lease.fail(now);
    idle_.push_back({key, entry.lease.number(), now + Lease::idle_after});
  });
  watch_idle();
}

void Leasing::decide(std::shared_ptr<Part> part) {
  const auto waiting = queues_.find(part->charges[0].key);
  const bool is_behind_refund = waiting != queues_.end() && waiting->second.has_refund;
  if (decide_here(*part, is_behind_refund)) return;
  const std::string key(part->charges[0].key);
  const bool waits_long =
      waiting != queues_.end() && BootClock::now() - waiting->second.ask.at > options_.timeout;
  // Nothing piles up behind a server that does not answer, but what ends requests.
  if (!part->patient && (waits_long || router_.is_stalled(part->slot))) {
    fault_.note("Redis does not answer in time");
    return part->end(Part::Outcome::undecided);
  }
  const auto [queue, is_first] = queues_.try_emplace(key);
  queue->second.has_refund |= refunds(*part);
  queue->second.next.push_back(std::move(part));
  if (is_first) ask(key);
}

void Leasing::give_back(Part& part) {
  const store::Charge& charge = part.charges[0];
  table_.give_back(charge);
  table_.with(charge.key, [&](LeaseTable::Entry& entry) {
    part.decisions = {entry.lease.decision(charge, Found::admitted, BootClock::now())};
  });
}

// Decides what does not need Redis. Returns whether that could be done. Behind a refund, only what
// can be taken from here does not.
bool Leasing::decide_here(Part& part, bool is_behind_refund) {
  const store::Charge& charge = part.charges[0];
  if (is_behind_refund && !spends(charge)) return false;
  limit::Decision decision;
  const LeaseTable::Decided decided = table_.decide(charge, decision);
  if (decided.found == Found::unknown) return false;
  if (is_behind_refund && decided.found == Found::denied) return false;
  if (decided.becomes_low) ask_ahead(std::string(charge.key));
  end(part, decided.found, decision, clock_.now());
  return true;
}

// Makes the entry of the key, or one under other terms if the policies have changed. REQUIRES: no
// ask of the key is under way.
void Leasing::prepare(const Part& part, const LeaseTerms& terms) {
  const auto make = [&](const Lease& lease) {
    return LeaseTable::Entry{lease, part.keys[0], part.slot};
  };
  table_.with(
      part.charges[0].key, [&] { return make(Lease(terms)); },
      [&](LeaseTable::Entry& entry) {
        if (entry.lease.terms() == terms) return;
        Lease lease = entry.lease.terms().kind == terms.kind ? entry.lease : Lease(terms);
        lease.set_terms(terms, BootClock::now());
        entry = make(lease);
      });
}

void Leasing::ask_ahead(const std::string& key) {
  if (queues_.try_emplace(key).second) ask(key);
}

void Leasing::ask(const std::string& key) {
  Queue& queue = queues_.find(key)->second;
  std::optional<LeaseTerms> terms;  // one ask is under one law: the others wait for the next one
  for (std::shared_ptr<Part>& part : std::exchange(queue.next, {})) {
    const store::Charge& charge = part->charges[0];
    if (!part->is_awaited()) {
      part->end(Part::Outcome::undecided);
      continue;
    }
    const LeaseTerms own = LeaseTerms::make(*charge.law, charge.shared->leased).value();
    if (!terms) {
      terms = own;
      prepare(*part, own);
    }
    if (*terms != own) {
      queue.next.push_back(std::move(part));
      continue;
    }
    if (spends(charge)) add(queue.groups, charge.cost);
    queue.asked.push_back(std::move(part));
  }
  send(key, [&](Lease& lease) {
    for (const std::shared_ptr<Part>& part : queue.asked) {
      if (refunds(*part)) lease.refund(part->charges[0].cost);
    }
    const BootClock::time_point now = BootClock::now();
    const bool takes = queue.asked.empty() || !queue.groups.empty();
    if (!takes) return lease.look(table_.next_ask(), now);
    return lease.ask(table_.next_ask(), now, !queue.groups.empty());
  });
}

// `begin(Lease&)` returns what to ask. Without an entry, nothing waits: forgets the key.
template <class Begin>
void Leasing::send(const std::string& key, const Begin& begin) {
  Queue& queue = queues_.find(key)->second;
  std::shared_ptr<AskCall> call;
  table_.with(key, [&](LeaseTable::Entry& entry) {
    queue.ask = begin(entry.lease);
    call = std::make_shared<AskCall>(*this, key);
    ScriptArguments arguments =
        lease_arguments(entry.redis_key, table_.id(), entry.lease.terms(), queue.ask, queue.groups);
    call->slot = entry.slot;
    call->patient = is_ending_ || is_patient(queue.asked);
    call->bytes = std::move(arguments.bytes);
    call->count = arguments.count;
  });
  if (call == nullptr) {
    queues_.erase(key);
  } else {
    router_.send(std::move(call));
  }
}

void Leasing::answered(const std::string& key, const LeaseReply& reply) {
  if (reply.is_old) return failed(key, "Redis has decided a later request before an earlier one");
  clock_.note(reply.now);
  Queue& queue = queues_.find(key)->second;
  struct Answer {
    Found found = Found::denied;
    limit::Decision decision;
  };
  std::vector<Answer> answers(queue.asked.size());
  table_.with(key, [&](LeaseTable::Entry& entry) {
    Lease& lease = entry.lease;
    Lease::Time now = BootClock::now();
    lease.answer(queue.ask, reply, now);
    std::vector<std::uint64_t> served = reply.served;
    served.resize(queue.groups.size());
    std::vector<LeaseGroup> groups = queue.groups;  // requests that were not looked at
    std::size_t group = 0;
    std::uint64_t denied = 0;  // the least cost, 0: none
    for (std::size_t i = 0; i < queue.asked.size(); ++i) {
      const Part& part = *queue.asked[i];
      const store::Charge& charge = part.charges[0];
      if (!spends(charge)) continue;
      while (groups[group].requests == 0) ++group;
      --groups[group].requests;
      Found& found = answers[i].found;
      if (served[group] > 0) {
        --served[group];
        found = Found::admitted;
      } else {
        found = lease.spend(charge.cost, BootClock::now, now);
      }
      if (found == Found::admitted && !part.is_awaited()) lease.give_back(charge.cost);
      if (found == Found::admitted) continue;
      found = Found::denied;
      denied = denied == 0 ? charge.cost : std::min(denied, charge.cost);
    }
    if (denied > 0) {
      lease.rest(queue.ask, denied);
    } else if (reply.given < queue.ask.want && reply.there == 0) {
      lease.rest(queue.ask, 1);
    }
    for (std::size_t i = 0; i < queue.asked.size(); ++i) {
      const Part& part = *queue.asked[i];
      if (!part.is_awaited()) continue;  // its law may be gone, and nobody reads the answer
      const store::Charge& charge = part.charges[0];
      Answer& answer = answers[i];
      if (spends(charge)) {
        answer.decision = lease.decision(charge, answer.found, now);
        continue;
      }
      const bool peeks = charge.op == Op::peek || charge.op == Op::spend;
      answer.decision = lease.decision(charge, peeks ? Found::unknown : Found::admitted, now);
      answer.found = answer.decision.admitted ? Found::admitted : Found::denied;
    }
    idle_.push_back({key, lease.number(), now + Lease::idle_after});
  });
  std::vector<std::shared_ptr<Part>> parts = std::exchange(queue.asked, {});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    end(*parts[i], answers[i].found, answers[i].decision, reply.now);
  }
  go_on(key);
  watch_idle();
}

void Leasing::failed(const std::string& key, const std::string& why) {
  fault_.note(why);
  table_.with(key, [&](LeaseTable::Entry& entry) {
    entry.lease.fail(BootClock::now());
    idle_.push_back({key, entry.lease.number(), BootClock::now() + Lease::idle_after});
  });
  for (const std::shared_ptr<Part>& part : std::exchange(queues_.find(key)->second.asked, {})) {
    part->end(Part::Outcome::undecided);
  }
  go_on(key);
  watch_idle();
}

// After an answer: decides what has come meanwhile, or asks again.
void Leasing::go_on(const std::string& key) {
  Queue& queue = queues_.find(key)->second;
  queue.groups.clear();
  queue.has_refund = false;
  for (std::shared_ptr<Part>& part : std::exchange(queue.next, {})) {
    if (!part->is_awaited()) {
      part->end(Part::Outcome::undecided);
    } else if (!decide_here(*part, queue.has_refund)) {
      queue.has_refund |= refunds(*part);
      queue.next.push_back(std::move(part));
    }
  }
  if (!queue.next.empty()) return ask(key);
  queues_.erase(key);
}

void Leasing::give_back_all() {
  is_ending_ = true;
  watch_idle();
}

void Leasing::watch_idle() {
  if (is_ending_) return give_back_idle(BootClock::time_point::max());
  if (is_watching_ || idle_.empty()) return;
  is_watching_ = true;
  timer_.expires_after(std::max(idle_.front().at - BootClock::now(), BootClock::duration{0}));
  timer_.async_wait([this](const boost::system::error_code& error) {
    is_watching_ = false;
    if (error) return;
    give_back_idle(BootClock::now());
    watch_idle();
  });
}

// Gives back what may be idle by then, and removes what is empty.
void Leasing::give_back_idle(BootClock::time_point until) {
  const BootClock::time_point now = BootClock::now();
  while (!idle_.empty() && idle_.front().at <= until) {
    const Idle idle = std::move(idle_.front());
    idle_.pop_front();
    bool gives_back = false;
    table_.remove_if(idle.key, [&](LeaseTable::Entry& entry) {
      if (entry.lease.number() != idle.number || entry.lease.is_asking()) return false;
      if (entry.lease.is_empty(now)) return true;
      gives_back = true;
      return false;
    });
    if (!gives_back || !queues_.try_emplace(idle.key).second) continue;
    send(idle.key, [&](Lease& lease) { return lease.ask_nothing(table_.next_ask(), now); });
  }
}

}  // namespace headgate::redis
