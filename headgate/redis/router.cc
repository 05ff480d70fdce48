#include "headgate/redis/router.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "headgate/net/resp_writer.h"
#include "headgate/redis/key.h"
#include "headgate/redis/replies.h"

namespace headgate::redis {
namespace {

using std::chrono::milliseconds;

// How often the slots are asked for, at most: many calls are redirected when one slot moves.
constexpr milliseconds refresh_pause{100};
// After TRYAGAIN: the keys of a slot are moved one after the other.
constexpr milliseconds try_again_pause{5};
// More redirections mean that the nodes disagree.
constexpr unsigned tries_max = 16;

// The address in "MOVED 3999 127.0.0.1:6381", which has no brackets around an IPv6 address. An
// empty host is that of the node that sent it.
std::optional<ServerAddress> redirected(std::string_view error, const ServerAddress& from) {
  const std::size_t space = error.rfind(' ');
  const std::size_t colon = error.rfind(':');
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) {
    return std::nullopt;
  }
  ServerAddress address{std::string(error.substr(space + 1, colon - space - 1)),
                        std::string(error.substr(colon + 1))};
  if (address.host.empty()) address.host = from.host;
  return address;
}

}  // namespace

// One sending of a call to one server.
class Router::Attempt : public Receiver {
 public:
  Attempt(Router& router, std::shared_ptr<Call> call, Link& link, Way way)
      : router_(router), call_(std::move(call)), link_(link), way_(way) {}

  void receive(std::size_t i, const net::RespReply& reply) override {
    if (reply->is_error() && error_.empty()) error_ = reply->text;
    if (i + 1 == call_->replies && router_.options_.counts != nullptr) {
      router_.options_.counts->round_trips.fetch_add(1, std::memory_order_relaxed);
    }
    if (error_.empty()) return call_->answer(i, reply);
    if (i + 1 == call_->replies) router_.refused(std::move(call_), link_, way_, error_);
  }
  void lost(const std::string& why) override {
    router_.look_again();
    call_->fail(why);
  }

 private:
  Router& router_;
  std::shared_ptr<Call> call_;
  Link& link_;  // calls this
  const Way way_;
  std::string error_;
};

class Router::SlotsReply : public Receiver {
 public:
  SlotsReply(Router& router, const Link& from) : router_(router), from_(from) {}
  void receive(std::size_t, const net::RespReply& reply) override {
    router_.is_refreshing_ = false;
    router_.read_slots(from_, reply);
  }
  void lost(const std::string&) override {
    router_.is_refreshing_ = false;
    router_.refresh_soon();
  }

 private:
  Router& router_;
  const Link& from_;
};

Router::Router(boost::asio::io_context& io, const Options& options, std::string_view script)
    : io_(io), options_(options), script_(script), refresh_timer_(io) {}

void Router::start() {
  if (!options_.sentinel.empty()) {
    sentinels_.emplace(
        io_, options_,
        Sentinels::Observer{[this](const ServerAddress& primary) { follow(primary); },
                            [this](const std::string& why) { has_no_primary(why); }});
    return sentinels_->start();
  }
  for (const ServerAddress& address : options_.nodes) link_to(address);
  if (!options_.cluster) return;
  slots_.resize(slots);
  refresh();
}

Link::Time Router::good_until() const noexcept {
  if (sentinels_ && links_.empty() && no_primary_.empty()) return Link::Time::max();
  Link::Time latest = Link::Time::min();
  for (const auto& link : links_) latest = std::max(latest, link->good_until());
  return latest;
}

Link& Router::link_to(const ServerAddress& address) {
  for (const auto& link : links_) {
    if (link->address() == address) return *link;
  }
  links_.push_back(std::make_shared<Link>(io_, options_, address, script_));
  links_.back()->start();
  return *links_.back();
}

Link* Router::link_of(std::uint16_t slot) {
  if (options_.cluster && slots_[slot] != nullptr) return slots_[slot];
  for (const auto& link : links_) {
    if (link->fault() == nullptr) return link.get();
  }
  return links_.empty() ? nullptr : links_.front().get();
}

void Router::send(std::shared_ptr<Call> call) {
  if (Link* const link = link_of(call->slot)) return send(std::move(call), *link, {});
  if (no_primary_.empty()) return early_.push_back(std::move(call));
  boost::asio::post(io_, [call = std::move(call), why = no_primary_] { call->fail(why); });
}

void Router::send(std::shared_ptr<Call> call, Link& link, Way way) {
  if (const std::string* fault = link.fault(call->patient)) {
    look_again();
    return boost::asio::post(io_, [call = std::move(call), why = *fault] { call->fail(why); });
  }
  auto attempt = std::make_shared<Attempt>(*this, call, link, way);
  if (call->count > 0) {
    return link.send_script(call->bytes, call->count, way.whole, way.asking, std::move(attempt));
  }
  if (!way.asking) return link.send(call->bytes, 0, call->replies, std::move(attempt));
  std::string commands;
  net::RespWriter out(commands);
  out.command({"ASKING"});
  link.send(commands + call->bytes, 1, call->replies, std::move(attempt));
}

// Nothing was executed, so the call may be sent again.
void Router::refused(std::shared_ptr<Call> call, Link& link, Way way, const std::string& error) {
  const auto is = [&](std::string_view code) { return error.starts_with(code); };
  ++way.tries;
  if (way.tries > tries_max) return call->fail(link.address().text() + ": " + error);
  if (is("NOSCRIPT")) {
    way.whole = true;
    return send(std::move(call), link, way);
  }
  if (options_.cluster && (is("MOVED ") || is("ASK "))) {
    if (const auto address = redirected(error, link.address())) {
      Link& other = link_to(*address);
      way.asking = is("ASK ");
      way.whole = false;
      if (!way.asking) {
        slots_[call->slot] = &other;
        refresh_soon();
      }
      return send(std::move(call), other, way);
    }
  }
  if (is("TRYAGAIN")) {
    way.asking = false;
    const auto timer = std::make_shared<boost::asio::steady_timer>(io_, try_again_pause);
    return timer->async_wait([this, timer, call = std::move(call), way](const auto&) {
      if (Link* const other = link_of(call->slot)) return send(call, *other, way);
      call->fail(no_primary_);
    });
  }
  // A failover. Of a script, Redis 6.2 puts the code behind other words.
  const auto has = [&](std::string_view code) { return error.find(code) != std::string::npos; };
  if (has("READONLY ") || is("MASTERDOWN ")) {
    look_again();
    link.leave("it has become a replica; expected the primary");
  } else if (is("CLUSTERDOWN ") || has("NOREPLICAS ")) {
    look_again();  // it may be cut off from the others, and have a successor there
  }
  call->fail(link.address().text() + ": " + error);
}

void Router::look_again() {
  if (options_.cluster) refresh_soon();
  if (sentinels_) sentinels_->ask_soon();
}

// ---- the primary that sentinels name

void Router::follow(const ServerAddress& primary) {
  no_primary_.clear();
  if (links_.empty() || links_.front()->address() != primary) {
    const auto former = std::exchange(links_, {});
    link_to(primary);
    for (const auto& link : former) link->close();
  }
  for (std::shared_ptr<Call>& call : std::exchange(early_, {})) send(std::move(call));
}

void Router::has_no_primary(const std::string& why) {
  if (links_.empty()) no_primary_ = why;
  for (const std::shared_ptr<Call>& call : std::exchange(early_, {})) call->fail(why);
}

// ---- the cluster's slots

void Router::refresh_soon() {
  if (is_refreshing_) return;
  is_refreshing_ = true;
  refresh_timer_.expires_after(refresh_pause);
  refresh_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) refresh();
  });
}

void Router::refresh() {
  is_refreshing_ = false;
  // Another one than the last time, because the last one may be cut off from the others.
  Link* link = nullptr;
  for (std::size_t i = 0; i < links_.size() && link == nullptr; ++i) {
    asked_ = (asked_ + 1) % links_.size();
    if (links_[asked_]->fault() == nullptr) link = links_[asked_].get();
  }
  if (link == nullptr) return refresh_soon();
  is_refreshing_ = true;
  std::string command;
  net::RespWriter out(command);
  out.command({"CLUSTER", "SLOTS"});
  link->send(command, 0, 1, std::make_shared<SlotsReply>(*this, *link));
}

void Router::read_slots(const Link& from, const net::RespReply& reply) {
  if (!reply->is_array()) return refresh_soon();
  std::vector<Link*> found(slots);
  bool complete = true;
  for (const SlotRange& range : slot_ranges(reply, from.address())) {
    if (!range.primary || range.first < 0 || range.last >= slots) {
      complete = false;
      continue;
    }
    Link& link = link_to(*range.primary);
    for (std::int64_t slot = range.first; slot <= range.last; ++slot) {
      found[static_cast<std::size_t>(slot)] = &link;
    }
  }
  slots_ = std::move(found);
  remove_gone();
  if (!complete) refresh_soon();
}

// Closes the links to nodes that have left: they have no slot and cannot be reached.
void Router::remove_gone() {
  for (std::size_t i = options_.nodes.size(); i < links_.size();) {
    const std::shared_ptr<Link> link = links_[i];
    const bool has_slots = std::find(slots_.begin(), slots_.end(), link.get()) != slots_.end();
    if (has_slots || link->fault() == nullptr) {
      ++i;
      continue;
    }
    links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i));
    link->close();
  }
}

}  // namespace headgate::redis
