// The input is a script for one client: header sections that a server answers with, time that
// passes, connections that break. Whatever the script, no wait is longer than the maximum or
// negative, an answer is waited for only while a request is under way, and after the script the
// next request may begin after a bounded wait.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/client/pacer.h"

namespace {

using namespace headgate;

constexpr std::int64_t unix_now = 1'700'000'000;

void require(bool holds) {
  if (!holds) std::abort();
}

// The script: each line is a command, and its first characters say which.
//
//   +MS    that many milliseconds pass
//   -      a connection breaks
//   429    (any status) an answer with the header lines up to an empty line, to the oldest request
//          under way, or to the newest if the command ends in n
class Script {
 public:
  explicit Script(std::string_view text) : rest_(text) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const auto end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return true;
  }

 private:
  std::string_view rest_;
};

class Client {
 public:
  explicit Client(client::Mode mode) : pacer_(options(mode), now_) {}

  void pass(std::int64_t ms) { now_.ns += Nanos{ms} * 1'000'000; }

  // Sends the requests that may begin, up to 8, so that a short script has several under way.
  void send() {
    for (int i = 0; i < 8; ++i) {
      const client::Next next = checked_next();
      if (next.why != client::Why::nothing) return;
      under_way_.push_back(pacer_.begin(now_));
    }
  }

  void answer(int status, const std::vector<field::HeaderLine>& headers, bool newest) {
    if (under_way_.empty()) under_way_.push_back(pacer_.begin(now_));
    client::Request request = take(newest);
    const field::ResponseView view = field::read_response(headers, unix_now);
    pacer_.receive(request, {status, view}, now_);
    pacer_.end(request);
    static_cast<void>(checked_next());
    const auto standing = pacer_.standing(now_);
    require(!standing || standing->left <= options({}).units_max);
  }

  void lose() {
    if (!under_way_.empty()) pacer_.end(take(true));
  }

  // Checks that the next request may begin after a bounded wait once nothing is under way.
  void finish() {
    while (!under_way_.empty()) lose();
    client::Next next = checked_next();
    for (int waits = 0; next.why != client::Why::nothing; next = checked_next()) {
      require(++waits <= 100);
      now_ = next.at;
    }
  }

 private:
  static client::Options options(client::Mode mode) {
    client::Options options;
    options.mode = mode;
    options.seed = 1;
    return options;
  }

  client::Request take(bool newest) {
    const auto at = newest ? under_way_.end() - 1 : under_way_.begin();
    const client::Request request = *at;
    under_way_.erase(at);
    return request;
  }

  [[nodiscard]] client::Next checked_next() const {
    const client::Options limits = options({});
    const client::Next next = pacer_.next(now_);
    switch (next.why) {
      case client::Why::nothing:
        break;
      case client::Why::answer:
        require(!under_way_.empty());
        break;
      default:
        require(next.at > now_);
        require(next.at.ns - now_.ns <=
                limits.wait_max + limits.wait_max * limits.jitter_permille / 1000);
    }
    return next;
  }

  Instant now_{};
  client::Pacer pacer_;
  std::vector<client::Request> under_way_;
};

field::HeaderLine header_of(std::string_view line) {
  const auto colon = std::min(line.find(':'), line.size());
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  while (value.starts_with(' ')) value.remove_prefix(1);
  return {line.substr(0, colon), value};
}

void play(std::string_view text, client::Mode mode) {
  Client client(mode);
  Script script(text);
  for (std::string_view line; script.next(line);) {
    const auto digits = [](std::string_view number) {
      return std::atoll(std::string(number.substr(0, 10)).c_str());
    };
    if (line.starts_with('+')) {
      client.pass(std::max(0LL, digits(line.substr(1))));
    } else if (line.starts_with('-')) {
      client.lose();
    } else {
      const auto status = static_cast<int>(digits(line.substr(0, 3)));
      const bool newest = line.ends_with('n');
      std::vector<field::HeaderLine> headers;
      while (script.next(line) && !line.empty()) headers.push_back(header_of(line));
      client.answer(status, headers, newest);
    }
    client.send();
  }
  client.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  play(text, client::Mode::paced);
  play(text, client::Mode::greedy);
  return 0;
}
