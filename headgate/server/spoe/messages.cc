#include "headgate/server/spoe/messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "headgate/policy/file/spelling.h"
#include "headgate/policy/match/request_target.h"
#include "headgate/policy/text.h"

namespace headgate::server {
namespace {

using net::SpoeType;
using net::SpoeValue;

// An argument of a message, as HAProxy's configuration should give it.
struct Argument {
  std::string_view name;
  std::string_view example;
  bool required;
  // Whether a value has the right type. Every argument may be null: HAProxy sends that if the
  // request or response has no such part.
  bool (*takes)(const SpoeValue&);
};

bool is_text(const SpoeValue& value) { return value.type == SpoeType::string; }
bool is_binary(const SpoeValue& value) { return value.type == SpoeType::binary; }
bool is_number(const SpoeValue& value) { return value.is_integer(); }
bool is_address(const SpoeValue& value) {
  return value.type == SpoeType::ipv4 || value.type == SpoeType::ipv6;
}

constexpr std::string_view request_name = "headgate-request";
constexpr std::array request_arguments = {
    Argument{"method", "method", true, is_text},
    Argument{"path", "pathq", true, is_text},
    Argument{"host", "req.hdr(host)", false, is_text},
    Argument{"src", "src", true, is_address},
    Argument{"headers", "req.hdrs_bin", true, is_binary},
    Argument{"bytes", "req.body_size", false, is_number},
};

constexpr std::string_view response_name = "headgate-response";
constexpr std::array response_arguments = {
    Argument{"receipt", "var(txn.headgate.receipt)", true, is_binary},
    Argument{"status", "status", true, is_number},
    Argument{"headers", "res.hdrs_bin", false, is_binary},
    Argument{"bytes", "res.body_size", false, is_number},
};

constexpr std::array<std::string_view, 2> message_names = {request_name, response_name};

std::string expected(const net::SpoeMessage& message, const Argument& argument) {
  return std::string(message.name) + ": expected the argument " + std::string(argument.name) + "=" +
         std::string(argument.example);
}

std::string unknown(std::string what, std::string_view word,
                    std::span<const std::string_view> known) {
  what += " " + policy::in_quotes(word) + " is unknown";
  if (const auto meant = policy::nearest(word, known)) {
    return what + "; did you mean " + policy::in_quotes(*meant) + '?';
  }
  return what + "; expected " + policy::alternatives(known);
}

// Returns what is wrong with a message, if anything.
std::optional<std::string> fault_of(const net::SpoeMessage& message,
                                    std::span<const Argument> arguments) {
  for (const net::SpoeArgument& given : message.arguments) {
    const auto known =
        std::find_if(arguments.begin(), arguments.end(),
                     [&](const Argument& argument) { return argument.name == given.name; });
    if (known == arguments.end()) {
      std::vector<std::string_view> names;
      for (const Argument& argument : arguments) names.push_back(argument.name);
      return unknown(std::string(message.name) + ": the argument", given.name, names);
    }
    if (given.value.type != SpoeType::null && !known->takes(given.value)) {
      return expected(message, *known) + ", but it has another type";
    }
  }
  for (const Argument& argument : arguments) {
    if (argument.required && message.find(argument.name) == nullptr) {
      return expected(message, argument);
    }
  }
  return std::nullopt;
}

// Returns an argument that is there and not null.
const SpoeValue* given(const net::SpoeMessage& message, std::string_view name) noexcept {
  const SpoeValue* const value = message.find(name);
  return value == nullptr || value->type == SpoeType::null ? nullptr : value;
}

std::string_view text_of(const net::SpoeMessage& message, std::string_view name) noexcept {
  const SpoeValue* const value = given(message, name);
  return value == nullptr ? std::string_view() : value->bytes;
}

policy::Address address_of(const SpoeValue& value) noexcept {
  if (value.type == SpoeType::ipv4) {
    std::uint8_t bytes[4];
    std::memcpy(bytes, value.bytes.data(), sizeof bytes);
    return policy::Address::from_v4(bytes);
  }
  std::uint8_t bytes[16];
  std::memcpy(bytes, value.bytes.data(), sizeof bytes);
  return policy::Address::from_v6(bytes);
}

// Returns false if the argument `headers` is malformed.
bool read_headers(const net::SpoeMessage& message, std::optional<SpoeHeaders>& headers) noexcept {
  const SpoeValue* const value = given(message, "headers");
  if (value == nullptr) return true;
  headers = SpoeHeaders::read(value->bytes);
  return headers.has_value();
}

Failure<std::string> malformed_headers(const net::SpoeMessage& message) {
  return Failure<std::string>(std::string(message.name) + ": the argument headers is malformed");
}

}  // namespace

Result<SpoeRequest, std::string> SpoeRequest::read(const net::SpoeMessage& message) {
  if (auto fault = fault_of(message, request_arguments)) {
    return Failure<std::string>(*std::move(fault));
  }
  SpoeRequest read;
  std::optional<SpoeHeaders> headers;
  if (!read_headers(message, headers)) return malformed_headers(message);
  if (headers) read.headers_ = *headers;

  policy::Request& request = read.request_;
  request.method = text_of(message, "method");
  // Requests without a path, such as OPTIONS *, count as those of the root.
  const std::string_view uri = text_of(message, "path");
  std::string_view host = text_of(message, "host");
  if (const auto target = policy::read_request_target(uri)) {
    request.path = target->path;
    request.query = target->query;
    if (host.empty()) host = target->host;
  } else {
    const policy::PathAndQuery parts = policy::split_path_and_query(uri);
    request.path = parts.path;
    request.query = parts.query;
  }
  if (host.empty()) host = read.headers_.value("host", 0).value_or("");
  request.host = policy::without_port(host);
  if (const SpoeValue* const source = given(message, "src")) request.peer = address_of(*source);
  if (const SpoeValue* const bytes = given(message, "bytes")) request.body_bytes = bytes->number;
  return read;
}

policy::Request SpoeRequest::request() const noexcept {
  policy::Request request = request_;
  request.headers = &headers_;
  return request;
}

Result<SpoeResponse, std::string> SpoeResponse::read(const net::SpoeMessage& message) {
  if (auto fault = fault_of(message, response_arguments)) {
    return Failure<std::string>(*std::move(fault));
  }
  SpoeResponse read;
  if (!read_headers(message, read.headers_)) return malformed_headers(message);
  read.receipt_ = text_of(message, "receipt");
  if (const SpoeValue* const status = given(message, "status")) {
    read.response_.status = static_cast<unsigned>(std::min<std::uint64_t>(status->number, 999));
  }
  if (const SpoeValue* const bytes = given(message, "bytes")) {
    read.response_.body_bytes = bytes->number;
  }
  return read;
}

policy::Response SpoeResponse::response() const noexcept {
  policy::Response response = response_;
  if (headers_) response.headers = &*headers_;
  return response;
}

Result<SpoeNotice, std::string> SpoeNotice::read(std::string_view payload,
                                                 net::SpoeMessages& reader) {
  SpoeNotice notice;
  const auto twice = [](const net::SpoeMessage& message) {
    return Failure<std::string>("a frame has the message " + std::string(message.name) + " twice");
  };
  reader.begin(payload);
  while (!reader.at_end()) {
    const auto message = reader.next();
    if (!message) return Failure<std::string>("a NOTIFY frame is malformed");
    if (message->name == request_name) {
      if (notice.request) return twice(*message);
      auto read = SpoeRequest::read(*message);
      if (!read) return Failure<std::string>(std::move(read.error()));
      notice.request = *std::move(read);
    } else if (message->name == response_name) {
      if (notice.response) return twice(*message);
      auto read = SpoeResponse::read(*message);
      if (!read) return Failure<std::string>(std::move(read.error()));
      notice.response = *std::move(read);
    } else {
      return Failure<std::string>(unknown("the message", message->name, message_names));
    }
  }
  if (!notice.request && !notice.response) {
    return Failure<std::string>("a NOTIFY frame has no message");
  }
  return notice;
}

bool SpoeNotice::begins_with_request(std::string_view payload) noexcept {
  return net::SpoeCursor(payload).text() == request_name;
}

}  // namespace headgate::server
