// A client on Boost.Beast: several coroutines, each with a connection of its own, share one pacer,
// so that together they stay within the server's limits.
//
//   polite_beast HOST PORT TARGET COUNT PARALLEL
#include <headgate/client/pacer.h>

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace client = headgate::client;
namespace field = headgate::field;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

headgate::Instant now() {
  return {std::chrono::nanoseconds(Clock::now().time_since_epoch()).count()};
}

// A pacer for coroutines of one thread.
class Turnstile {
 public:
  explicit Turnstile(asio::any_io_executor executor, const client::Options& options)
      : pacer_(options, now()), changed_(executor) {}

  // Waits until the next request may start, and starts it.
  asio::awaitable<client::Request> pass() {
    for (;;) {
      const client::Next next = pacer_.next(now());
      if (next.why == client::Why::nothing) co_return pacer_.begin(now());
      const auto at =
          next.why == client::Why::answer
              ? Clock::time_point::max()  // until a response arrives
              : Clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(next.at.ns)));
      // All waiting coroutines share one timer. Setting it wakes the others; they check again.
      if (changed_.expiry() != at) changed_.expires_at(at);
      boost::system::error_code woken;
      co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }

  void answered(client::Request& request, const client::Answer& answer) {
    pacer_.receive(request, answer, now());
    pacer_.end(request);
    changed_.cancel();
  }

  void lost(const client::Request& request) {
    pacer_.end(request);
    changed_.cancel();
  }

 private:
  client::Pacer pacer_;
  asio::steady_timer changed_;
};

struct Work {
  std::string host;
  std::string port;
  std::string target;
  int left = 0;
  int fetched = 0;
  int denied = 0;
};

asio::awaitable<void> fetch(Work& work, Turnstile& turnstile) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  beast::tcp_stream stream(executor);
  bool connected = false;
  beast::flat_buffer buffer;
  while (work.left > 0) {
    --work.left;
    client::Request request = co_await turnstile.pass();
    const bool reused = connected;
    http::response<http::string_body> response;
    try {
      if (!connected) {
        const auto found =
            co_await resolver.async_resolve(work.host, work.port, asio::use_awaitable);
        stream.close();
        buffer.clear();
        co_await stream.async_connect(found, asio::use_awaitable);
      }
      http::request<http::empty_body> message(http::verb::get, work.target, 11);
      message.set(http::field::host, work.host);
      stream.expires_after(std::chrono::seconds(30));
      co_await http::async_write(stream, message, asio::use_awaitable);
      co_await http::async_read(stream, buffer, response, asio::use_awaitable);
    } catch (...) {
      turnstile.lost(request);
      ++work.left;
      connected = false;
      if (!reused) throw;
      continue;  // servers close connections that were not used for a while
    }
    connected = response.keep_alive();
    std::vector<field::HeaderLine> lines;
    for (const auto& line : response) {
      lines.push_back({{line.name_string().data(), line.name_string().size()},
                       {line.value().data(), line.value().size()}});
    }
    const auto status = static_cast<int>(response.result_int());
    const field::ResponseView view = field::read_response(lines, std::time(nullptr));
    turnstile.answered(request, {status, view});
    if (client::denies({status, view})) {
      ++work.denied;
      ++work.left;  // to be tried again
    } else {
      ++work.fetched;
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: polite_beast HOST PORT TARGET COUNT PARALLEL\n";
    return 2;
  }
  asio::io_context io(1);
  client::Options options;
  options.seed = std::random_device()();
  Turnstile turnstile(io.get_executor(), options);
  Work work{argv[1], argv[2], argv[3], std::atoi(argv[4])};
  bool broken = false;
  for (int i = std::atoi(argv[5]); i > 0; --i) {
    asio::co_spawn(io, fetch(work, turnstile), [&](const std::exception_ptr& error) {
      if (!error) return;
      broken = true;
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& fault) {
        std::cerr << "polite_beast: " << fault.what() << '\n';
      }
    });
  }
  io.run();
  std::cout << work.fetched << " fetched, " << work.denied << " denied\n";
  return broken ? 1 : 0;
}
