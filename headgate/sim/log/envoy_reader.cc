#include "headgate/sim/log/envoy_reader.h"

#include <algorithm>
#include <array>

#include "headgate/policy/text.h"
#include "headgate/sim/log/line_parts.h"
#include "headgate/sim/log/time.h"

namespace headgate::sim {
namespace {

constexpr std::string_view no_time =
    "there is no time; expected one such as [2016-04-15T20:17:00.310Z] at the beginning";
constexpr std::string_view no_request =
    "there is no request; expected one such as \"GET / HTTP/2\" behind the time";
constexpr std::string_view no_numbers =
    "expected status, flags, bytes received, bytes sent, duration and upstream's time behind the "
    "request";
constexpr std::string_view no_texts =
    "expected X-Forwarded-For, User-Agent, X-Request-Id and host in quotes behind the numbers";
constexpr std::string_view no_client =
    "the last address of X-Forwarded-For is no IP address; expected that of the client, which "
    "Envoy adds with use_remote_address";

// In the order of the line.
constexpr std::array<std::string_view, 3> headers{"x-forwarded-for", "user-agent", "x-request-id"};

// Takes a number and a space; "-" is 0.
bool take_count(std::string_view& rest, std::uint64_t& count) noexcept {
  count = 0;
  std::string_view word = take_word(rest);
  return word == "-" || (take_number(word, count) && word.empty());
}

}  // namespace

EnvoyReader::EnvoyReader(std::span<const WantedHeader> wanted) {
  for (const std::string_view name : headers) {
    const auto place = std::find_if(wanted.begin(), wanted.end(), [&](const WantedHeader& header) {
      return !header.of_response && header.name == name;
    });
    places_.push_back(static_cast<std::size_t>(place - wanted.begin()));
    if (place == wanted.end()) places_.back() = log_headers_max;
  }
}

std::string_view EnvoyReader::read(std::string_view line, LogEntry& entry) {
  const std::size_t bracket = line.find("] ");
  if (!line.starts_with('[') || bracket == line.npos) return no_time;
  const auto began = read_iso_time(line.substr(1, bracket - 1));
  if (!began) return no_time;
  entry.at = *began;

  std::string_view rest = line.substr(bracket + 2);
  std::string_view request;
  if (!take_quoted(rest, request) || !split_request(request, entry) || entry.method == "-") {
    return no_request;
  }
  std::uint64_t status = 0;
  std::uint64_t took = 0;
  std::uint64_t received = 0;
  const bool has_status = take_space(rest) && take_count(rest, status) && status <= 999;
  if (!has_status || take_word(rest).empty() || !take_count(rest, received) ||
      !take_count(rest, entry.response_bytes) || !take_count(rest, took) ||
      !end_after(took, entry) || take_word(rest).empty()) {
    return no_numbers;
  }
  entry.status = static_cast<unsigned>(status);
  entry.request_bytes = received;

  std::array<std::string_view, headers.size()> texts;
  for (std::string_view& text : texts) {
    if (!take_quoted(rest, text) || !take_space(rest)) return no_texts;
  }
  std::string_view host;
  if (!take_quoted(rest, host)) return no_texts;
  entry.host = policy::without_port(host == "-" ? std::string_view() : host);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (places_[i] == log_headers_max) continue;
    entry.headers[places_[i]] = texts[i] == "-" ? Text() : texts[i];
  }
  std::string_view client = texts[0].substr(texts[0].rfind(',') + 1);
  client.remove_prefix(std::min(client.find_first_not_of(' '), client.size()));
  entry.peer = policy::Address::parse(client);
  return entry.peer ? std::string_view() : no_client;
}

}  // namespace headgate::sim
