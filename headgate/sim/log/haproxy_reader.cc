#include "headgate/sim/log/haproxy_reader.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headgate/base/ascii.h"
#include "headgate/sim/log/line_parts.h"

namespace headgate::sim {
namespace {

constexpr std::string_view no_time =
    "there is no time; expected one such as [06/Feb/2009:12:14:14.655], from 1970 to 2261";
constexpr std::string_view no_client =
    "there is no client; expected an IP address and a port in front of the time";
constexpr std::string_view no_duration =
    "there are no times; expected five such as 10/0/30/69/109 behind the server";
constexpr std::string_view no_status = "there is no status; expected one behind the times";
constexpr std::string_view no_bytes = "there is no number of bytes; expected one behind the status";
constexpr std::string_view no_request =
    "there is no request; expected one such as \"GET / HTTP/1.1\" at the end";

constexpr std::int64_t ms_ns = 1'000'000;

// What was received, before HAProxy wrote #22 for a quote.
std::string_view without_escapes(std::string_view text, std::string& buffer) {
  if (text.find('#') == text.npos) return text;
  buffer.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '#' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      buffer.push_back(text[i]);
    } else {
      buffer.push_back(static_cast<char>(high << 4 | low));
      i += 2;
    }
  }
  return buffer;
}

constexpr std::size_t date_length = 20;  // 06/Feb/2009:12:14:14
constexpr std::string_view utc = " +0000";

}  // namespace

std::string_view HaproxyReader::read(std::string_view line, LogEntry& entry) {
  // Syslog writes brackets, too: haproxy[14389].
  for (std::size_t bracket = line.find('['); bracket != line.npos;
       bracket = line.find('[', bracket + 1)) {
    const std::string_view date = line.substr(bracket + 1);
    if (date.size() <= date_length || date[date_length] != '.') continue;
    std::array<char, ClfTime::length> text;
    std::copy_n(date.begin(), date_length, text.begin());
    std::copy(utc.begin(), utc.end(), text.begin() + date_length);
    const auto second = time_.read({text.data(), text.size()});
    std::string_view rest = date.substr(date_length + 1);
    std::uint64_t ms = 0;
    if (!second || !take_number(rest, ms) || ms > 999 || !rest.starts_with("] ")) continue;
    entry.at = *second + static_cast<std::int64_t>(ms) * ms_ns;

    std::string_view front = line.substr(0, bracket);
    if (!front.ends_with(' ')) return no_client;
    front.remove_suffix(1);
    std::string_view client = front.substr(front.rfind(' ') + 1);
    // A priority, such as <134>, when nothing else of syslog's comes before it.
    if (client.starts_with('<')) client.remove_prefix(client.find('>') + 1);
    entry.peer = policy::Address::parse(client.substr(0, client.rfind(':')));
    if (!entry.peer) return no_client;
    return read_rest(rest.substr(2), entry);
  }
  return no_time;
}

std::string_view HaproxyReader::read_rest(std::string_view rest, LogEntry& entry) {
  (void)take_word(rest);  // frontend
  (void)take_word(rest);  // server
  std::string_view times = take_word(rest);
  const std::size_t last = times.rfind('/');
  if (last == times.npos) return no_duration;
  times.remove_prefix(last + 1);
  if (times.starts_with('+')) times.remove_prefix(1);  // option logasap
  std::uint64_t took = 0;
  if (!take_number(times, took) || !end_after(took, entry)) return no_duration;

  std::uint64_t status = 0;
  std::string_view digits = take_word(rest);
  const bool is_aborted = digits == "-1";
  if (!is_aborted && (!take_number(digits, status) || !digits.empty() || status > 999)) {
    return no_status;
  }
  entry.status = static_cast<unsigned>(status);
  std::string_view bytes = take_word(rest);
  if (bytes.starts_with('+')) bytes.remove_prefix(1);
  if (!take_number(bytes, entry.response_bytes) || !bytes.empty()) return no_bytes;

  // In captured headers, HAProxy writes a quote as #22.
  const std::size_t quote = rest.find('"');
  if (quote == rest.npos) return no_request;
  std::string_view request;
  rest.remove_prefix(quote);
  entry.host = {};
  entry.request_bytes = std::nullopt;
  const bool good =
      take_quoted(rest, request) && split_request(without_escapes(request, request_), entry);
  return good ? std::string_view() : no_request;
}

}  // namespace headgate::sim
