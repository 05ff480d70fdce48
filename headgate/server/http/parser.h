// Reads HTTP requests from bytes, with Boost.Beast's parser.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

#include "headgate/server/http/request.h"

namespace headgate::server {

// Why a request is malformed, as it is answered. The connection is closed after the answer.
struct HttpFault {
  unsigned status = 400;
  std::string_view detail;  // of static storage
};

// Reads one request at a time. A head of more than head_max bytes, a body of more than body_max,
// more than HttpRequest::fields_max fields, and framing that two readers could read differently are
// faults, so that memory is bounded for any input. A reused parser allocates only for chunked
// bodies.
class HttpParser {
 public:
  // Twice the 8 KiB that common proxies accept, because a proxy adds its own fields.
  static constexpr std::size_t head_max = 16 * 1024;
  // 128 checks (policy::policies_per_request_max) of 512 bytes each.
  static constexpr std::size_t body_max = 64 * 1024;
  // All bytes of a request. The framing of chunks may be as long as their content.
  static constexpr std::size_t request_max = head_max + 2 * body_max;

  enum class State : std::uint8_t { head, body, done, fault };

  // Prepares for the next request.
  void reset();

  // Continues with `bytes`: the bytes of the call before, at any address, and perhaps more behind
  // them. Returns State::body once at the end of the head, even if the body has arrived, too.
  State parse(std::string_view bytes);

  [[nodiscard]] const HttpRequest& request() const noexcept { return request_; }
  [[nodiscard]] const HttpFault& fault() const noexcept { return fault_; }
  // The number of bytes that this request has; in State::done.
  [[nodiscard]] std::size_t size() const noexcept { return taken_; }
  // Whether the client wants to use the connection again.
  [[nodiscard]] bool keeps_alive() const noexcept { return beast_->keep_alive(); }
  // Whether the client waits for a response 100 before it sends the body; in State::body.
  [[nodiscard]] bool awaits_continue() const noexcept { return awaits_continue_; }

 private:
  State fail(unsigned status, std::string_view detail) noexcept;
  State fail(boost::beast::error_code error) noexcept;
  State end_head();

  // Beast's parser, which stores what it reads in `to`.
  class Beast final : public boost::beast::http::basic_parser<true> {
   public:
    explicit Beast(HttpParser& to) : to_(to) {
      header_limit(head_max);
      body_limit(body_max);
    }

   private:
    using Text = boost::beast::string_view;
    using Error = boost::beast::error_code;

    void on_request_impl(boost::beast::http::verb, Text method, Text target, int version,
                         Error&) override;
    void on_response_impl(int, Text, int, Error&) override {}
    void on_field_impl(boost::beast::http::field, Text name, Text value, Error& error) override;
    void on_header_impl(Error&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
    std::size_t on_body_impl(Text body, Error&) override;
    void on_chunk_header_impl(std::uint64_t, Text, Error&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, Text body, Error&) override;
    void on_finish_impl(Error&) override {}

    HttpParser& to_;
  };

  [[nodiscard]] HttpRequest::Extent extent(std::string_view text) const noexcept;

  HttpRequest request_;
  std::optional<Beast> beast_;
  std::size_t taken_ = 0;
  bool head_done_ = false;
  bool awaits_continue_ = false;
  bool has_encoding_ = false;  // there is a Transfer-Encoding field
  bool has_length_ = false;    // there is a Content-Length field
  bool expects_ = false;       // there is an Expect field
  unsigned hosts_ = 0;         // number of Host fields
  HttpFault fault_;
};

}  // namespace headgate::server
