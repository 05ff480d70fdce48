#include "headgate/sim/log/logged_request.h"

#include <algorithm>

#include "headgate/policy/match/request_target.h"

namespace headgate::sim {
namespace {

// The bytes of an entry: flags, client (4 or 16 bytes), numbers as LEB128, then texts, each after
// its length.
constexpr unsigned v4 = 1;
constexpr unsigned v6 = 2;
constexpr unsigned has_request_bytes = 4;
constexpr unsigned has_took = 8;

void put(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

void put(std::string& out, std::string_view text) {
  put(out, text.size());
  out.append(text);
}

std::uint64_t take_number(const char*& at) noexcept {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
}

std::string_view take_text(const char*& at) noexcept {
  const auto size = static_cast<std::size_t>(take_number(at));
  const std::string_view text(at, size);
  at += size;
  return text;
}

}  // namespace

std::string_view RecordWriter::write(const LogEntry& entry, std::uint64_t line) {
  bytes_.clear();
  const bool is_v4 = entry.peer && entry.peer->is_v4();
  const unsigned flags = (entry.peer ? is_v4 ? v4 : v6 : 0) |
                         (entry.request_bytes ? has_request_bytes : 0) |
                         (entry.took > 0 ? has_took : 0);
  bytes_.push_back(static_cast<char>(flags));
  if (entry.peer) {
    const auto& bytes = entry.peer->bytes();
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), is_v4 ? 4 : bytes.size());
  }
  put(bytes_, line);
  put(bytes_, std::uint64_t{entry.status});
  put(bytes_, entry.response_bytes);
  if (entry.request_bytes) put(bytes_, *entry.request_bytes);
  if (entry.took > 0) put(bytes_, static_cast<std::uint64_t>(entry.took));

  const policy::FieldsUsed& fields_used = layout_.fields_used;
  if (fields_used.method) put(bytes_, entry.method);
  if (fields_used.host || fields_used.path || fields_used.query) {
    // For a target that a server would refuse, the path is the whole target: it was in the log.
    const auto target =
        policy::read_request_target(entry.target)
            .value_or(policy::RequestTarget{{.path = entry.target, .query = {}}, {}, false});
    if (fields_used.host) put(bytes_, target.host.empty() ? entry.host : target.host);
    if (fields_used.path) put(bytes_, target.path);
    if (fields_used.query) put(bytes_, entry.query.value_or(target.query));
  }
  for (std::size_t i = 0; i < layout_.headers.size(); ++i) {
    // 0: absent; otherwise the length + 1.
    put(bytes_, entry.headers[i] ? entry.headers[i]->size() + 1 : 0);
    if (entry.headers[i]) bytes_.append(*entry.headers[i]);
  }
  return bytes_;
}

LoggedRequest::LoggedRequest(const Layout& layout)
    : layout_(layout),
      values_(layout.headers.size()),
      request_headers_(*this, false),
      response_headers_(*this, true) {
  request_.headers = &request_headers_;
  response_.headers = &response_headers_;
}

void LoggedRequest::read(std::string_view bytes) noexcept {
  const char* at = bytes.data();
  const auto flags = static_cast<unsigned char>(*at++);
  request_.peer.reset();
  if (flags & v4) {
    std::uint8_t address[4];
    std::copy(at, at + 4, address);
    at += 4;
    request_.peer = policy::Address::from_v4(address);
  } else if (flags & v6) {
    std::uint8_t address[16];
    std::copy(at, at + 16, address);
    at += 16;
    request_.peer = policy::Address::from_v6(address);
  }
  line_ = take_number(at);
  response_.status = static_cast<unsigned>(take_number(at));
  response_.body_bytes = take_number(at);
  request_.body_bytes.reset();
  if (flags & has_request_bytes) request_.body_bytes = take_number(at);
  took_ = flags & has_took ? static_cast<std::int64_t>(take_number(at)) : 0;

  const policy::FieldsUsed& fields_used = layout_.fields_used;
  if (fields_used.method) request_.method = take_text(at);
  if (fields_used.host) request_.host = take_text(at);
  if (fields_used.path) request_.path = take_text(at);
  if (fields_used.query) request_.query = take_text(at);
  for (Text& value : values_) {
    const auto size = static_cast<std::size_t>(take_number(at));
    value.reset();
    if (size == 0) continue;
    value = std::string_view(at, size - 1);
    at += size - 1;
  }
}

std::optional<std::string_view> LoggedRequest::Values::line(std::string_view name,
                                                            std::size_t nth) const noexcept {
  if (nth > 0) return std::nullopt;
  for (std::size_t i = 0; i < record_.values_.size(); ++i) {
    const WantedHeader& header = record_.layout_.headers[i];
    if (header.of_response == of_response_ && header.name == name) return record_.values_[i];
  }
  return std::nullopt;
}

}  // namespace headgate::sim
