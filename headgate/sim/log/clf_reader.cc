#include "headgate/sim/log/clf_reader.h"

#include <algorithm>

#include "headgate/base/ascii.h"
#include "headgate/sim/log/line_parts.h"

namespace headgate::sim {
namespace {

constexpr std::string_view no_client =
    "the client is no IP address; expected one, such as 192.0.2.7, in front of the line";
constexpr std::string_view no_time =
    "there is no time; expected one such as [17/May/2015:10:05:03 +0000], from 1970 to 2261";
constexpr std::string_view no_request =
    "there is no request; expected one such as \"GET / HTTP/1.1\" behind the time";
constexpr std::string_view no_status =
    "there is no status; expected three digits behind the request";
constexpr std::string_view no_bytes =
    "there is no number of bytes; expected digits or '-' behind the status";
constexpr std::string_view no_referer =
    "there is no Referer; expected a text in quotes behind the bytes, or --format common";
constexpr std::string_view no_user_agent =
    "there is no User-Agent; expected a text in quotes at the end, or --format common";

char unescaped(char c) noexcept {
  switch (c) {
    case 'b':
      return '\b';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return c;
  }
}

// What was logged, before the server wrote \x and \" for what could be mistaken.
std::string_view without_escapes(std::string_view text, std::string& buffer) {
  if (text.find('\\') == text.npos) return text;
  buffer.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      buffer.push_back(text[i]);
      continue;
    }
    ++i;
    const int high = text[i] == 'x' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      buffer.push_back(unescaped(text[i]));
    } else {
      buffer.push_back(static_cast<char>(high << 4 | low));
      i += 2;
    }
  }
  return buffer;
}

// "-" stands for what was not there.
Text header(std::string_view logged, std::string& buffer) {
  if (logged == "-") return std::nullopt;
  return without_escapes(logged, buffer);
}

}  // namespace

ClfReader::ClfReader(ClfForm form, std::span<const WantedHeader> wanted) : form_(form) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].of_response) continue;
    if (wanted[i].name == "referer") referer_ = i;
    if (wanted[i].name == "user-agent") user_agent_ = i;
  }
}

std::string_view ClfReader::read(std::string_view line, LogEntry& entry) {
  // The user's name is the client's own choice, and may look like anything. So does the request,
  // but it comes behind the time.
  std::size_t next = 0;
  std::size_t quote = 0;
  for (std::size_t bracket = line.find('['); bracket != line.npos; bracket = next) {
    next = line.find('[', bracket + 1);
    if (quote <= bracket) quote = line.find('"', bracket);  // kept: a line can be all brackets
    std::string_view rest = line.substr(bracket + 1);
    const auto at = time_.read(rest.substr(0, ClfTime::length));
    if (!at || !rest.substr(ClfTime::length).starts_with("] ")) {
      if (quote > next) continue;
      return no_time;
    }
    entry.at = *at;
    rest.remove_prefix(ClfTime::length + 2);
    if (const auto wrong = read_client(line.substr(0, bracket), entry); !wrong.empty()) {
      return wrong;
    }
    return read_rest(rest, entry);
  }
  return no_time;
}

// "192.0.2.7 - alice ", or with the host and its port before it.
std::string_view ClfReader::read_client(std::string_view front, LogEntry& entry) {
  const std::size_t end = front.find(' ');
  if (end == front.npos) return no_client;
  const std::string_view first = front.substr(0, end);
  entry.peer = policy::Address::parse(first);
  entry.host = {};
  if (entry.peer || first == "unix:") return {};
  const std::string_view second = front.substr(end + 1, front.find(' ', end + 1) - end - 1);
  entry.peer = policy::Address::parse(second);
  if (!entry.peer) return no_client;
  entry.host = first.substr(0, first.rfind(':'));
  return {};
}

std::string_view ClfReader::read_rest(std::string_view rest, LogEntry& entry) {
  std::string_view request;
  if (!take_quoted(rest, request)) return no_request;
  if (!split_request(without_escapes(request, request_), entry)) return no_request;
  std::uint64_t status = 0;
  const std::string_view digits = rest.substr(0, 4);
  if (!take_space(rest) || !take_number(rest, status) || digits.size() != 4 || status > 999 ||
      status < 100) {
    return no_status;
  }
  entry.status = static_cast<unsigned>(status);
  entry.response_bytes = 0;
  if (!take_space(rest)) return no_bytes;
  if (rest.starts_with('-')) {
    rest.remove_prefix(1);
  } else if (!take_number(rest, entry.response_bytes)) {
    return no_bytes;
  }
  if (!rest.empty() && rest[0] != ' ') return no_bytes;
  if (form_ == ClfForm::common) return {};

  std::string_view referer;
  std::string_view user_agent;
  if (!take_space(rest) || !take_quoted(rest, referer)) return no_referer;
  if (!take_space(rest) || !take_quoted(rest, user_agent)) return no_user_agent;
  if (referer_ != unwanted) entry.headers[referer_] = header(referer, referer_text_);
  if (user_agent_ != unwanted) entry.headers[user_agent_] = header(user_agent, user_agent_text_);
  return {};
}

}  // namespace headgate::sim
