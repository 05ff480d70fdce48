#include "headgate/net/resp_reply_reader.h"

#include <algorithm>
#include <optional>

#include "headgate/base/whole_number.h"

namespace headgate::net {
namespace {

// The longest line: errors of scripts quote a line of the script.
constexpr std::size_t line_max = std::size_t{64} << 10;

}  // namespace

RespReplyReader::Found RespReplyReader::read(std::string_view bytes) {
  used_ = 0;
  if (at_ == 0) {
    values_.clear();
    slices_.clear();
    open_.clear();
  }
  do {
    if (const Found found = read_value(bytes); found != Found::reply) return found;
    close_complete_arrays();
  } while (!open_.empty());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (slices_[i].size > 0) values_[i].text = bytes.substr(slices_[i].begin, slices_[i].size);
  }
  used_ = at_;
  at_ = 0;
  return Found::reply;
}

// Reads the line whose type is at `at_`, without the type and the line end.
RespReplyReader::Line RespReplyReader::read_line(std::string_view bytes,
                                                 std::string_view& line) noexcept {
  const std::size_t end = bytes.find('\n', at_ + scanned_);
  if (end == std::string_view::npos) {
    scanned_ = bytes.size() - at_;
    return scanned_ > line_max ? Line::malformed : Line::more;
  }
  scanned_ = 0;
  if (end - at_ < 2 || end - at_ > line_max || bytes[end - 1] != '\r') return Line::malformed;
  line = bytes.substr(at_ + 1, end - at_ - 2);
  return Line::complete;
}

// Reads the value at `at_`. Returns Found::reply if it is complete; an array's elements follow.
RespReplyReader::Found RespReplyReader::read_value(std::string_view bytes) {
  if (at_ == bytes.size()) return Found::more;
  if (values_.size() == limits_.values_max) return fail("it has too many values");
  std::string_view line;
  switch (read_line(bytes, line)) {
    case Line::more:
      return Found::more;
    case Line::malformed:
      return fail("expected a line that ends with CR LF");
    case Line::complete:
      break;
  }
  const char type = bytes[at_];
  RespValue value;
  Slice slice{at_ + 1, 0};
  std::size_t next = at_ + line.size() + 3;
  if (next > limits_.reply_max) return fail("it is too long");
  if (type == '+' || type == '-') {
    value.type = type == '+' ? RespValue::Type::text : RespValue::Type::error;
    slice.size = line.size();
  } else if (const auto number = whole_number<std::int64_t>(line); !number) {
    return fail("expected a number");
  } else if (type == ':') {
    value.type = RespValue::Type::integer;
    value.number = *number;
  } else if ((type != '$' && type != '*') || *number < -1) {
    return fail(type == '$' || type == '*' ? "expected a length" : "it has an unknown type");
  } else if (*number == -1) {
    value.type = RespValue::Type::null;
  } else if (type == '*') {
    if (static_cast<std::uint64_t>(*number) > limits_.values_max) {
      return fail("it has too many values");
    }
    if (open_.size() == limits_.depth_max) return fail("its arrays are nested too deeply");
    value.type = RespValue::Type::array;
    value.number = *number;
  } else {
    const std::size_t room = limits_.reply_max - next;
    if (room < 2 || static_cast<std::uint64_t>(*number) > room - 2) return fail("it is too long");
    value.type = RespValue::Type::text;
    slice = {next, static_cast<std::size_t>(*number)};
    if (bytes.size() - next < slice.size + 2) return Found::more;
    next += slice.size + 2;
    if (bytes.substr(next - 2, 2) != "\r\n") return fail("expected CR LF behind a text");
  }
  values_.push_back(value);
  slices_.push_back(slice);
  at_ = next;
  if (!open_.empty()) --open_.back().missing;
  if (value.is_array()) {
    open_.push_back({static_cast<std::uint32_t>(values_.size() - 1), value.number});
  }
  return Found::reply;
}

void RespReplyReader::close_complete_arrays() noexcept {
  while (!open_.empty() && open_.back().missing == 0) {
    RespValue& array = values_[open_.back().value];
    array.values = static_cast<std::uint32_t>(values_.size() - open_.back().value);
    open_.pop_back();
  }
}

RespReplyReader::Found RespReplyReader::fail(std::string_view why) {
  fault_ = "a reply cannot be read: " + std::string(why);
  return Found::fault;
}

}  // namespace headgate::net
