#include "headgate/server/ready_set.h"

#include <sys/epoll.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "headgate/server/turn.h"

namespace headgate::server {
namespace {

int new_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

}  // namespace

ReadySet::ReadySet(boost::asio::io_context& io, std::function<void(Ready)> arrived,
                   std::function<void(void*)> serve)
    : io_(io), epoll_(io, new_epoll()), arrived_(std::move(arrived)), serve_(std::move(serve)) {
  watch();
}

bool ReadySet::add(int fd, void* who) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = who;
  return epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void ReadySet::watch(int fd, void* who, Need need) noexcept {
  epoll_event event{};  // epoll always reports the end
  if (need == Need::input) event.events = EPOLLIN;
  if (need == Need::output) event.events = EPOLLOUT;
  event.data.ptr = who;
  const int changed = epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, fd, &event);
  if (changed != 0 && errno == ENOENT) {
    epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, fd, &event);
  }
}

void ReadySet::ignore(int fd) noexcept {
  epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
}

void ReadySet::put(Place& place, Queue queue) noexcept {
  if (queue == Queue::backlog) {
    backlog_.push_back(place);
  } else {
    newcomers_.push(place);
  }
}

void ReadySet::close() noexcept {
  boost::system::error_code ignored;
  epoll_.close(ignored);
}

void ReadySet::watch() noexcept {
  watching_ = true;
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    watched_.hold([this](boost::system::error_code error) {
                      if (error) return;
                      watching_ = false;
                      if (!posted_) go_on();
                    }));
}

void ReadySet::go_on_later() noexcept {
  posted_ = true;
  boost::asio::post(io_, posting_.hold([this] {
    posted_ = false;
    go_on();
  }));
}

// Serves for about the time of one turn; then the other handlers of the io_context (timers,
// accepts, other doors) run.
void ReadySet::go_on() {
  // A second epoll_wait() here takes half as long as a turn through Asio, and under load each wait
  // returns only one or two sockets: `redis-benchmark -P 1 -c 50` against the RESP door measures
  // it.
  const Turn turn(1);
  while (epoll_.is_open()) {
    if (take_arrived() == 0 && none_queued()) break;
    serve_backlog();
    serve_newcomer();
    if (turn.is_over()) break;
  }
  if (!epoll_.is_open()) return;
  if (none_queued()) {
    if (!watching_) watch();
  } else if (!posted_) {
    go_on_later();
  }
}

void ReadySet::serve_backlog() {
  if (backlog_.empty()) return;
  void* const who = backlog_.front().who;
  backlog_.pop_front();
  serve_(who);
}

void ReadySet::serve_newcomer() {
  if (const Place* const next = newcomers_.pop()) serve_(next->who);
}

// Returns how many sockets were ready.
std::size_t ReadySet::take_arrived() {
  std::array<epoll_event, together_max> events;
  std::array<void*, together_max> who;
  const int count = epoll_wait(epoll_.native_handle(), events.data(), together_max, 0);
  if (count <= 0) return 0;
  const auto ready = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < ready; ++i) who[i] = events[i].data.ptr;
  arrived_(std::span(who).first(ready));
  return ready;
}

// Serves the first of them, and puts the others back.
void ReadySet::serve_all(Places& places, std::size_t most, Queue queue) {
  for (std::size_t left = most; left > 0 && !places.empty(); --left) {
    void* const who = places.front().who;
    places.pop_front();
    serve_(who);
  }
  while (!places.empty()) {
    Place& place = places.front();
    places.pop_front();
    put(place, queue);
  }
}

void ReadySet::serve_arrived(std::size_t most) {
  Places queued;
  queued.swap(backlog_);
  serve_all(queued, most, Queue::backlog);
  newcomers_.take_all(queued);
  serve_all(queued, most, Queue::newcomers);
  for (std::size_t served = 0; served < most && epoll_.is_open();) {
    const std::size_t ready = take_arrived();
    if (ready == 0) return;
    served += ready;
  }
}

}  // namespace headgate::server
