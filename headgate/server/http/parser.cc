#include "headgate/server/http/parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <functional>
#include <utility>

#include "headgate/base/ascii.h"

namespace headgate::server {
namespace {

namespace http = boost::beast::http;

std::string_view view(boost::beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

struct PathAndQuery {
  std::string_view path;
  std::string_view query;
};

PathAndQuery split(std::string_view target) noexcept {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return {target, {}};
  return {target.substr(0, question), target.substr(question + 1)};
}

// Returns path and query of a target, which may be absolute (RFC 9112, section 3.2.2).
PathAndQuery read_target(std::string_view target) noexcept {
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return split(target);
  const std::size_t end = target.find_first_of("/?", scheme + 3);
  PathAndQuery parts;
  if (end != std::string_view::npos) parts = split(target.substr(end));
  // An absent path is "/" (RFC 9110, section 4.2.3). Views must be of the request's bytes.
  if (parts.path.empty()) parts.path = target.substr(scheme + 1, 1);
  return parts;
}

}  // namespace

void HttpParser::reset() {
  beast_.reset();
  request_.bytes_ = {};
  request_.count_ = 0;
  request_.method_ = request_.path_ = request_.query_ = request_.body_ = {};
  request_.chunked_body_.clear();
  taken_ = 0;
  head_done_ = awaits_continue_ = has_encoding_ = has_length_ = expects_ = false;
  hosts_ = 0;
  fault_ = {};
}

HttpParser::State HttpParser::parse(std::string_view bytes) {
  request_.bytes_ = bytes;
  if (!beast_) beast_.emplace(*this);
  if (head_done_ && taken_ == bytes.size()) return State::body;
  while (true) {
    boost::beast::error_code error;
    taken_ += beast_->put(boost::asio::buffer(bytes.substr(taken_)), error);
    if (error == http::error::need_more) {
      if (bytes.size() < (head_done_ ? request_max : head_max)) {
        return head_done_ ? State::body : State::head;
      }
      if (!head_done_) return fail(http::error::header_limit);
      return fail(http::error::body_limit);
    }
    if (error) return fail(error);
    if (!head_done_) {
      if (const State state = end_head(); state != State::body) return state;
      if (!beast_->is_done()) return State::body;
    }
    if (beast_->is_done()) return State::done;
    if (taken_ == bytes.size()) return State::body;
  }
}

// Checks what Beast does not: RFC 9112, sections 3.2 and 6.1.
HttpParser::State HttpParser::end_head() {
  head_done_ = true;
  if (taken_ > head_max) return fail(http::error::header_limit);
  // Beast unfolds folded lines. RFC 9112, section 5.2: a server may refuse them, and other readers
  // of the same request may have read them differently.
  const std::string_view head = request_.bytes_.substr(0, taken_);
  for (std::size_t line = 0; (line = head.find('\n', line)) != head.npos; ++line) {
    if (line + 1 < head.size() && (head[line + 1] == ' ' || head[line + 1] == '\t')) {
      return fail(400, "a folded header line; expected each field on one line");
    }
  }
  if (has_encoding_) {
    if (request_.is_http_1_0()) return fail(400, "HTTP/1.0 has no Transfer-Encoding");
    if (!beast_->chunked() || request_.line("transfer-encoding", 1) ||
        !equal_ignoring_case(trimmed(*request_.first("transfer-encoding")), "chunked")) {
      return fail(501, "the only Transfer-Encoding here is chunked");
    }
  }
  if ((hosts_ == 0 && !request_.is_http_1_0()) || hosts_ > 1) {
    return fail(400, "expected exactly one Host field");
  }
  if (expects_) {
    if (!equal_ignoring_case(*request_.first("expect"), "100-continue")) {
      return fail(417, "the only expectation that is met here is 100-continue");
    }
    awaits_continue_ = !request_.is_http_1_0();
  }
  return State::body;
}

HttpParser::State HttpParser::fail(unsigned status, std::string_view detail) noexcept {
  fault_ = {status, detail};
  return State::fault;
}

HttpParser::State HttpParser::fail(boost::beast::error_code error) noexcept {
  if (error == http::error::header_limit) {
    return fail(431, "the head of a request may have 16 KiB and 100 fields");
  }
  if (error == http::error::body_limit) return fail(413, "a body may have 64 KiB");
  if (error == http::error::bad_version) {
    const std::string_view line = request_.bytes_.substr(0, request_.bytes_.find('\n'));
    if (line.ends_with('\r')) return fail(505, "expected HTTP/1.1 or HTTP/1.0");
    return fail(400, "expected lines that end with CR LF");
  }
  if (error == http::error::bad_method) return fail(400, "expected a method");
  if (error == http::error::bad_target) return fail(400, "malformed target");
  if (error == http::error::bad_field) return fail(400, "malformed field name");
  if (error == http::error::bad_value) return fail(400, "malformed field value");
  if (error == http::error::bad_obs_fold) {
    return fail(400, "a folded header line; expected each field on one line");
  }
  if (error == http::error::bad_content_length || error == http::error::multiple_content_length) {
    return fail(400, "malformed or ambiguous Content-Length");
  }
  if (error == http::error::bad_transfer_encoding) {
    return fail(400, "ambiguous Transfer-Encoding");
  }
  if (error == http::error::bad_chunk || error == http::error::bad_chunk_extension) {
    return fail(400, "malformed chunk");
  }
  return fail(400, "not an HTTP request");
}

HttpRequest::Extent HttpParser::extent(std::string_view text) const noexcept {
  return {static_cast<std::uint32_t>(text.data() - request_.bytes_.data()),
          static_cast<std::uint32_t>(text.size())};
}

void HttpParser::Beast::on_request_impl(http::verb, Text method, Text target, int version, Error&) {
  HttpRequest& request = to_.request_;
  const PathAndQuery parts = read_target(view(target));
  request.version_ = version;
  request.method_ = to_.extent(view(method));
  request.path_ = to_.extent(parts.path);
  if (!parts.query.empty()) request.query_ = to_.extent(parts.query);
}

void HttpParser::Beast::on_field_impl(http::field field, Text name, Text value, Error& error) {
  if (to_.head_done_) return;  // trailers of a chunked body
  HttpRequest& request = to_.request_;
  if (request.count_ == HttpRequest::fields_max) {
    error = http::error::header_limit;
    return;
  }
  // Beast unfolds folded lines into a buffer of its own, where extents cannot point to.
  const std::less<const char*> before;
  const char* begin = request.bytes_.data();
  if (!value.empty() &&
      (before(value.data(), begin) || !before(value.data(), begin + request.bytes_.size()))) {
    error = http::error::bad_obs_fold;
    return;
  }
  if (field == http::field::host) ++to_.hosts_;
  // Beast accepts equal ones, as RFC 9112, section 6.3, allows.
  if (field == http::field::content_length &&
      (std::exchange(to_.has_length_, true) || value.find(',') != Text::npos)) {
    error = http::error::multiple_content_length;
    return;
  }
  if (field == http::field::transfer_encoding) to_.has_encoding_ = true;
  if (field == http::field::expect) to_.expects_ = true;
  request.fields_[request.count_++] = {
      to_.extent(view(name)), value.empty() ? HttpRequest::Extent{} : to_.extent(view(value))};
}

std::size_t HttpParser::Beast::on_body_impl(Text body, Error&) {
  HttpRequest::Extent& extent = to_.request_.body_;
  if (extent.size == 0) {
    extent = to_.extent(view(body));
  } else {
    extent.size += static_cast<std::uint32_t>(body.size());  // the parts are adjacent
  }
  return body.size();
}

std::size_t HttpParser::Beast::on_chunk_body_impl(std::uint64_t, Text body, Error&) {
  to_.request_.chunked_body_.append(body.data(), body.size());
  return body.size();
}

}  // namespace headgate::server
