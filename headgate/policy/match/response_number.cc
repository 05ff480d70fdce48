#include "headgate/policy/match/response_number.h"

#include <algorithm>

#include "headgate/base/ascii.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {
namespace {

constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view data_line = "data";

// A mark that may precede any text in UTF-8.
constexpr bool is_of_byte_order_mark(char c) noexcept {
  return c == '\xef' || c == '\xbb' || c == '\xbf';
}

}  // namespace

void ResponseNumber::read(std::string_view piece) noexcept {
  for (const char c : piece) {
    if (form_ == Form::unknown) {
      if (is_space(c) || is_of_byte_order_mark(c)) continue;
      form_ = c == '{' || c == '[' ? Form::json : Form::events;
    }
    form_ == Form::json ? json_byte(c) : event_byte(c);
  }
}

// An event is lines of "name: value", and ends with an empty line. The lines that are called "data"
// are its text.
void ResponseNumber::event_byte(char c) noexcept {
  const bool second_of_end = c == '\n' && after_return_;
  after_return_ = c == '\r';
  if (second_of_end) return;
  if (c == '\n' || c == '\r') {
    if (line_is_empty_) begin_text();
    if (line_ == Line::data) json_byte('\n');  // joins the lines of one event
    line_ = Line::name;
    line_is_empty_ = true;
    line_name_ = 0;
    return;
  }
  line_is_empty_ = false;
  switch (line_) {
    case Line::name:
      if (line_name_ == data_line.size() && c == ':') {
        line_ = Line::space;
      } else if (line_name_ < data_line.size() && c == data_line[line_name_]) {
        ++line_name_;
      } else {
        line_ = Line::other;
      }
      break;
    case Line::space:  // one is not part of the value
      line_ = Line::data;
      if (c != ' ') json_byte(c);
      break;
    case Line::data:
      json_byte(c);
      break;
    case Line::other:
      break;
  }
}

void ResponseNumber::begin_text() noexcept {
  next_ = Next::value;
  depth_ = on_path_ = name_at_ = 0;
  objects_ = 0;
  hit_ = false;
}

void ResponseNumber::json_byte(char c) noexcept {
  if (next_ == Next::rest_of_string) return string_byte(c);
  if (next_ == Next::rest_of_word) {
    if (!is_space(c) && c != ',' && c != '}' && c != ']') return word_byte(c);
    end_word();
  }
  if (next_ == Next::nothing || is_space(c)) return;
  const bool takes_value = next_ == Next::value || next_ == Next::value_or_end;
  const bool takes_name = next_ == Next::name || next_ == Next::name_or_end;
  switch (c) {
    case '{':
    case '[':
      takes_value ? open(c == '{') : fail();
      break;
    case '}':
    case ']':
      close(c == '}');
      break;
    case '"':
      takes_value || takes_name ? begin_string(takes_name) : fail();
      break;
    case ':':
      next_ = next_ == Next::colon ? Next::value : Next::nothing;
      break;
    case ',':
      next_ = next_ != Next::comma_or_end ? Next::nothing : in_object() ? Next::name : Next::value;
      break;
    default:
      takes_value ? begin_word(c) : fail();
  }
}

void ResponseNumber::begin_string(bool is_name) noexcept {
  is_name_ = is_name;
  escaped_ = false;
  compared_ = 0;
  equal_ = is_name && on_path_ == depth_;
  if (!is_name) hit_ = false;
  next_ = Next::rest_of_string;
}

void ResponseNumber::string_byte(char c) noexcept {
  if (escaped_) {
    escaped_ = false;
    return;
  }
  if (c == '\\') {
    escaped_ = true;
    equal_ = false;
    return;
  }
  if (c == '"') {
    if (!is_name_) return end_value();
    hit_ = equal_ && compared_ == name().size();
    next_ = Next::colon;
  } else if (equal_) {
    equal_ = compared_ < name().size() && c == name()[compared_];
    ++compared_;
  }
}

// The path's name for a member of the innermost object.
std::string_view ResponseNumber::name() const noexcept {
  return path_.substr(name_at_, path_.find('.', name_at_) - name_at_);
}

void ResponseNumber::begin_word(char c) noexcept {
  // Only the path's last name has a number.
  counts_ = hit_ && path_.find('.', name_at_) == std::string_view::npos;
  hit_ = false;
  word_ = 0;
  next_ = Next::rest_of_word;
  word_byte(c);
}

void ResponseNumber::word_byte(char c) noexcept {
  if (!is_digit(c)) {
    counts_ = false;
  } else if (counts_) {
    word_ = std::min(word_ * 10 + static_cast<std::uint64_t>(c - '0'), limit::Quota::cost_max);
  }
}

void ResponseNumber::end_word() noexcept {
  if (counts_) found_ = word_;
  end_value();
}

void ResponseNumber::open(bool object) noexcept {
  if (depth_ == depth_max) return fail();
  if (depth_ == 0 || (depth_ == 1 && object && !in_object())) {
    ++on_path_;  // a text, or a list of them
  } else if (object && hit_) {
    const std::size_t dot = path_.find('.', name_at_);
    if (dot != std::string_view::npos) {
      name_at_ = static_cast<std::uint8_t>(dot + 1);
      ++on_path_;
    }
  }
  hit_ = false;
  objects_ &= ~(std::uint64_t{1} << depth_);
  objects_ |= static_cast<std::uint64_t>(object ? 1 : 0) << depth_;
  ++depth_;
  next_ = object ? Next::name_or_end : Next::value_or_end;
}

void ResponseNumber::close(bool object) noexcept {
  const bool is_open = depth_ > 0 && in_object() == object;
  const bool may_end =
      next_ == Next::comma_or_end || next_ == Next::name_or_end || next_ == Next::value_or_end;
  if (!is_open || !may_end) return fail();
  if (on_path_ == depth_) {
    --on_path_;
    // Back to the name before: behind the last dot but one.
    name_at_ = name_at_ < 2 ? 0 : static_cast<std::uint8_t>(path_.rfind('.', name_at_ - 2) + 1);
  }
  --depth_;
  end_value();
}

}  // namespace headgate::policy
