#include "headgate/redis/sentinels.h"

#include <utility>

#include "headgate/net/resp_writer.h"
#include "headgate/redis/replies.h"

namespace headgate::redis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds calm_pause{1000};
constexpr milliseconds hurried_pause{100};

std::string question(const std::string& name) {
  std::string command;
  net::RespWriter out(command);
  out.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
  return command;
}

}  // namespace

class Sentinels::Reply : public Receiver {
 public:
  Reply(Sentinels& sentinels, std::size_t link)
      : sentinels_(sentinels), link_(link), round_(sentinels.round_) {}
  void receive(std::size_t, const net::RespReply& reply) override {
    if (round_ == sentinels_.round_) sentinels_.answered(link_, reply);
  }
  void lost(const std::string& why) override {
    if (round_ == sentinels_.round_) sentinels_.lost(why);
  }

 private:
  Sentinels& sentinels_;
  const std::size_t link_;
  const std::uint64_t round_;
};

Sentinels::Sentinels(boost::asio::io_context& io, const Options& options, Observer observer)
    : io_(io),
      options_(options),
      observer_(std::move(observer)),
      command_(question(options.sentinel)),
      timer_(io) {}

void Sentinels::start() {
  for (const ServerAddress& address : options_.nodes) {
    links_.push_back(
        std::make_shared<Link>(io_, options_, address, std::string_view(), Link::Peer::sentinel));
    links_.back()->start();
  }
  pending_ = links_.size();
  for (std::size_t i = 0; i < links_.size(); ++i) ask(i);
}

void Sentinels::ask_soon() {
  if (std::exchange(in_hurry_, true) || pending_ > 0) return;
  wait(hurried_pause);
}

void Sentinels::wait(milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) ask_one();
  });
}

// The one that has answered last, or in a hurry the next one: the last one may be cut off from the
// others.
void Sentinels::ask_one() {
  const std::size_t first = last_ + (std::exchange(in_hurry_, false) ? 1 : 0);
  pending_ = 1;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const std::size_t next = (first + i) % links_.size();
    if (links_[next]->fault() == nullptr) return ask(next);
  }
  lost(*links_[first % links_.size()]->fault());
}

void Sentinels::ask(std::size_t link) {
  links_[link]->send(command_, 0, 1, std::make_shared<Reply>(*this, link));
}

void Sentinels::answered(std::size_t link, const net::RespReply& reply) {
  ++round_;
  pending_ = 0;
  last_ = link;
  wait(in_hurry_ ? hurried_pause : calm_pause);
  const auto primary = named_primary(reply, options_.sentinel);
  if (primary) return observer_.found(*primary);
  observer_.failed(links_[link]->address().text() + ": " + primary.error());
}

void Sentinels::lost(const std::string& why) {
  if (--pending_ > 0) return;
  ++round_;
  ++last_;
  wait(hurried_pause);
  observer_.failed(why);
}

}  // namespace headgate::redis
