// A web server on Boost.Beast that limits its clients with headgate as a library.
//
//   limited_server headgate.yaml 8080
#include <headgate/gate/gate.h>
#include <headgate/gate/table_options.h>
#include <headgate/policy/file/load.h>
#include <headgate/store/table.h>

#include <array>
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

// Looks up header fields of a request for headgate.
class Headers final : public headgate::policy::Headers {
 public:
  explicit Headers(const Request& request) : request_(request) {}

  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    auto [at, end] = request_.equal_range({name.data(), name.size()});
    for (; at != end; ++at) {
      if (nth-- == 0) return std::string_view(at->value().data(), at->value().size());
    }
    return std::nullopt;
  }

 private:
  const Request& request_;
};

// A gate with one policy file and one table. A process needs one gate, and each thread one decision
// context; this server has one thread.
class Limiter {
 public:
  Limiter(std::shared_ptr<const headgate::policy::PolicySet> policies,
          std::unique_ptr<headgate::store::Table> table)
      : table_(std::move(table)), gate_(std::move(policies), *table_, table_->secret(), {}) {}

  // Returns the response of `serve`, or a denial. Both have the rate limit fields.
  template <class Serve>
  Response answer(const Request& request, const tcp::endpoint& peer, Serve serve) {
    const std::string_view target(request.target().data(), request.target().size());
    const std::size_t question = target.find('?');
    const Headers headers(request);
    headgate::policy::Request matched;
    matched.method = {request.method_string().data(), request.method_string().size()};
    matched.path = target.substr(0, question);
    matched.query = question == target.npos ? "" : target.substr(question + 1);
    matched.peer = headgate::policy::Address::parse(peer.address().to_string());
    matched.headers = &headers;
    matched.body_bytes = request.body().size();

    gate_.admit(matched, table_->now(), headgate::gate::DryRun::no, *context_);
    const headgate::gate::Verdict& verdict = context_->verdict;
    Response response;
    if (verdict.outcome == headgate::gate::Outcome::denied) {
      response.result(verdict.status());
      if (verdict.retry_after) {
        response.set(http::field::retry_after, std::to_string(*verdict.retry_after));
      }
      headgate::Writer problem(text_);
      if (gate_.field_writer().write_problem(verdict, problem)) {
        response.set(http::field::content_type, "application/problem+json");
        response.body() = problem.text();
      }
    } else {
      response = serve(request);
    }
    headgate::Writer fields(text_);
    for (const headgate::gate::Line& line : gate_.field_writer().write(verdict.items, fields)) {
      response.insert({line.name.data(), line.name.size()}, {line.value.data(), line.value.size()});
    }
    gate_.settle(verdict.dues, context_->now,
                 {response.result_int(), response.body().size(), nullptr}, table_->now());
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    return response;
  }

 private:
  std::unique_ptr<headgate::store::Table> table_;
  headgate::gate::Gate gate_;
  std::unique_ptr<headgate::gate::DecisionContext> context_ =
      std::make_unique<headgate::gate::DecisionContext>();
  std::array<char, 16384> text_;  // of the fields and of a problem document
};

Response greet(const Request&) {
  Response response(http::status::ok, 11);
  response.set(http::field::content_type, "text/plain");
  response.body() = "hello\n";
  return response;
}

asio::awaitable<void> serve(tcp::socket socket, Limiter& limiter) {
  boost::beast::tcp_stream stream(std::move(socket));
  boost::beast::flat_buffer buffer;
  const tcp::endpoint peer = stream.socket().remote_endpoint();
  try {
    for (bool again = true; again;) {
      Request request;
      stream.expires_after(std::chrono::seconds(30));
      co_await http::async_read(stream, buffer, request, asio::use_awaitable);
      const Response response = limiter.answer(request, peer, greet);
      co_await http::async_write(stream, response, asio::use_awaitable);
      again = response.keep_alive();
    }
  } catch (const boost::system::system_error&) {
    // The client has closed the connection, or was silent for 30 s.
  }
}

asio::awaitable<void> listen(tcp::acceptor acceptor, Limiter& limiter) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), limiter), asio::detached);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: limited_server POLICY_FILE PORT\n";
    return 2;
  }
  const auto policies = headgate::policy::load_file(argv[1]);
  if (!policies) {
    for (const auto& fault : policies.error()) std::cerr << fault.text() << '\n';
    return 1;
  }
  auto table = headgate::store::Table::open(headgate::gate::table_options(**policies));
  if (!table) {
    std::cerr << table.error() << '\n';
    return 1;
  }
  Limiter limiter(*policies, std::move(*table));

  asio::io_context io(1);
  const auto port = static_cast<unsigned short>(std::stoi(argv[2]));
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), port});
  std::cout << "http://127.0.0.1:" << acceptor.local_endpoint().port() << '/' << std::endl;
  asio::co_spawn(io, listen(std::move(acceptor), limiter), asio::detached);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](auto, int) { io.stop(); });
  io.run();
}
