// A load generator for Redis and servers with its protocol; measures latencies:
//
//   compare_resp_load --port N [--rate R] [--connections 50] [--seconds 5] [--keys 100000] WORD...
//
// {} in a word is replaced by the number of a random key in twelve digits. Without a rate, every
// connection sends its next command when the reply is there. With a rate, R commands per second are
// due, evenly, each on the connection that has been idle longest. Latency counts from when a
// command was due, so that the delay of a server that falls behind is included. Prints one line of
// JSON, latencies in microseconds.
//
// Only looks for the ends of replies, so that the server is the bottleneck.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Micros = std::chrono::duration<double, std::micro>;

constexpr std::string_view placeholder = "{}";
constexpr std::size_t key_digits = 12;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "compare_resp_load: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

struct Options {
  std::uint16_t port = 0;
  std::size_t connections = 50;
  double seconds = 5;
  std::uint64_t keys = 100'000;
  double rate = 0;
  std::vector<std::string> words;
};

Options parse(int argc, char** argv) {
  Options options;
  int i = 1;
  for (; i + 1 < argc && std::strncmp(argv[i], "--", 2) == 0; i += 2) {
    const std::string_view name = argv[i];
    const double value = std::atof(argv[i + 1]);
    if (name == "--port") options.port = static_cast<std::uint16_t>(value);
    if (name == "--connections") options.connections = static_cast<std::size_t>(value);
    if (name == "--seconds") options.seconds = value;
    if (name == "--keys") options.keys = static_cast<std::uint64_t>(value);
    if (name == "--rate") options.rate = value;
  }
  options.words.assign(argv + i, argv + argc);
  if (options.port == 0 || options.words.empty() || options.connections == 0) {
    std::fputs("usage: compare_resp_load --port N [options] WORD...\n", stderr);
    std::exit(2);
  }
  return options;
}

// A command with a new random key each time: only the digits are written anew.
class Command {
 public:
  explicit Command(const Options& options) : keys_(options.keys) {
    text_ = '*' + std::to_string(options.words.size()) + "\r\n";
    for (std::string word : options.words) {
      const std::size_t at = word.find(placeholder);
      if (at != std::string::npos) word.replace(at, placeholder.size(), key_digits, '0');
      text_ += '$' + std::to_string(word.size()) + "\r\n";
      if (at != std::string::npos) places_.push_back(text_.size() + at);
      text_ += word + "\r\n";
    }
  }

  std::string_view next() {
    for (const std::size_t address : places_) {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      std::uint64_t key = random_ % keys_;
      for (std::size_t digit = key_digits; digit-- > 0; key /= 10) {
        text_[address + digit] = static_cast<char>('0' + key % 10);
      }
    }
    return text_;
  }

 private:
  std::string text_;
  std::vector<std::size_t> places_;
  std::uint64_t keys_;
  std::uint64_t random_ = 0x2545f4914f6cdd1d;
};

// Finds the end of a reply: a line, a bulk string, or an array of these.
class Reply {
 public:
  // Returns whether the reply ends with these bytes; the next byte begins another reply.
  bool add(std::string_view bytes) {
    bool ended = false;
    for (const char c : bytes) {
      if (skip_ > 0) {
        ended = --skip_ == 0 && leave();
      } else if (c != '\n') {
        line_ += c;
      } else {
        ended = end_line();
        line_.clear();
      }
    }
    return ended;
  }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }

 private:
  bool end_line() {
    const char type = line_.empty() ? '\0' : line_[0];
    if (type == '-') ++errors_;
    if (type != '*' && type != '$') return leave();
    const int number = std::atoi(line_.c_str() + 1);
    if (type == '*' && number > 0) {
      values_ = number;
    } else if (type == '$' && number >= 0) {
      skip_ = number + 2;
    } else {
      return leave();
    }
    return false;
  }
  bool leave() { return values_ == 0 || --values_ == 0; }

  std::string line_;  // incomplete
  int skip_ = 0;      // bytes of a bulk string still to come
  int values_ = 0;    // of an array, still to come
  std::uint64_t errors_ = 0;
};

struct Connection {
  int fd = -1;
  Reply reply;
  Clock::time_point due;
};

int connect_to(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fail("connect");
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options), command_(options), connections_(options.connections) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    for (Connection& connection : connections_) {
      connection.fd = connect_to(options.port);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = &connection;
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
      idle_.push_back(&connection);
    }
  }

  void run() {
    const auto after = [](double seconds) {
      return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    };
    const Clock::time_point start = Clock::now();
    const Clock::time_point end = start + after(options_.seconds);
    Clock::time_point now = start;
    Clock::time_point due = start;
    for (std::uint64_t sent = 0; now < end; now = Clock::now()) {
      while (!idle_.empty() && due <= now) {
        send_command(options_.rate > 0 ? due : now);
        if (options_.rate > 0) due = start + after(static_cast<double>(++sent) / options_.rate);
      }
      receive();
    }
    report(std::chrono::duration<double>(now - start).count());
  }

 private:
  void send_command(Clock::time_point due) {
    Connection& connection = *idle_.front();
    idle_.pop_front();
    connection.due = due;
    const std::string_view text = command_.next();
    if (send(connection.fd, text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size())) {
      fail("send");
    }
  }

  void receive() {
    std::array<epoll_event, 64> events;
    const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < ready; ++i) {
      auto& connection = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      const ssize_t got = recv(connection.fd, room_.data(), room_.size(), 0);
      if (got <= 0) fail("recv");
      if (!connection.reply.add({room_.data(), static_cast<std::size_t>(got)})) continue;
      ++answered_;
      note(Micros(Clock::now() - connection.due).count());
      idle_.push_back(&connection);
    }
  }

  // 50 buckets per doubling: a latency is exact to 1.4 %.
  void note(double micros) {
    const double exact = micros <= 1 ? 0 : std::log2(micros) * 50;
    ++latencies_[std::min(latencies_.size() - 1, static_cast<std::size_t>(exact))];
  }

  [[nodiscard]] double quantile(double part) const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : latencies_) all += count;
    auto left = static_cast<std::uint64_t>(static_cast<double>(all) * part);
    std::size_t bucket = 0;
    while (bucket + 1 < latencies_.size() && latencies_[bucket] <= left) {
      left -= latencies_[bucket++];
    }
    return std::exp2(static_cast<double>(bucket + 1) / 50);
  }

  void report(double seconds) const {
    std::uint64_t errors = 0;
    for (const Connection& connection : connections_) errors += connection.reply.errors();
    std::printf(
        "{\"requests\": %llu, \"seconds\": %.6f, \"errors\": %llu, \"p50\": %.1f, \"p99\": %.1f}\n",
        static_cast<unsigned long long>(answered_), seconds,
        static_cast<unsigned long long>(errors), quantile(0.5), quantile(0.99));
  }

  const Options& options_;
  Command command_;
  std::vector<Connection> connections_;
  std::deque<Connection*> idle_;
  int epoll_ = -1;
  std::vector<char> room_ = std::vector<char>(1 << 16);
  std::uint64_t answered_ = 0;
  std::array<std::uint64_t, 1500> latencies_{};  // up to 2^30 us
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Load(options).run();
}
