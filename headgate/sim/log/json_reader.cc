#include "headgate/sim/log/json_reader.h"

#include <algorithm>
#include <limits>

#include "headgate/base/ascii.h"
#include "headgate/base/json_scanner.h"
#include "headgate/policy/text.h"
#include "headgate/sim/log/line_parts.h"

namespace headgate::sim {
namespace {

constexpr std::string_view not_json = "expected one JSON object a line";
constexpr std::string_view no_time =
    "there is no time that can be read; expected a member like \"time\" with an ISO 8601 date, the "
    "common log format's or seconds, from 1970 to 2261 (--field time=NAME)";
constexpr std::string_view no_address =
    "there is no client's IP address; expected a member like \"remote_addr\" (--field "
    "address=NAME)";
constexpr std::string_view no_request =
    "there is no request; expected a member like \"request\" or \"request_uri\" (--field "
    "request=NAME or target=NAME)";
constexpr std::string_view bad_status = "the status can't be read; expected 0 to 999";
constexpr std::string_view bad_bytes = "a number of bytes can't be read; expected digits";
constexpr std::string_view bad_duration =
    "the duration can't be read; expected seconds, at most a day";

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

// In the order of JsonReader::What. A duration has no usual name: it moves a request to the time
// when it began, so it is read only if --field names its member.
const struct {
  const char* what;
  std::vector<std::string> names;
} usual[] = {
    {"time", {"time", "time_iso8601", "msec", "time_local", "timestamp", "@timestamp", "ts"}},
    {"address",
     {"remote_addr", "client_ip", "client", "remote_ip", "ip", "request.client_ip",
      "request.remote_ip"}},
    {"request", {"request"}},
    {"method", {"request_method", "method", "request.method"}},
    {"target", {"request_uri", "uri", "path", "url", "request.uri"}},
    {"query", {"args", "query_string", "query"}},
    {"host", {"host", "http_host", "server_name", "request.host"}},
    {"status", {"status"}},
    {"bytes", {"body_bytes_sent", "bytes_sent", "bytes", "size"}},
    {"request-bytes", {"content_length", "request_body_length", "bytes_read"}},
    {"duration", {}},
};

// What Caddy and Traefik write in place of a header that they hide.
constexpr std::string_view hidden = "REDACTED";

// Names of variables as nginx makes them: x-plan is x_plan.
std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

bool read_count(Text text, std::uint64_t& count) noexcept {
  return take_number(*text, count) && text->empty();
}

// Whether a value without quotes is one of JSON. Numbers may have leading zeros, since nginx writes
// the status 009.
bool is_literal(std::string_view text) noexcept {
  if (text == "true" || text == "false" || text == "null") return true;
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return false;
  return text.find_first_not_of("0123456789+-.eE") == text.npos;
}

bool is_there(Text text) noexcept { return text && !text->empty() && *text != "-"; }

}  // namespace

FieldNames::FieldNames() {
  for (const auto& [what, names] : usual) names_[what] = names;
}

Result<void, std::string> FieldNames::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  std::string what = lowered(assignment.substr(0, equals));
  const bool is_header = (what.starts_with("header:") || what.starts_with("response-header:")) &&
                         policy::is_token(what.substr(what.find(':') + 1));
  if (equals == assignment.npos || equals + 1 == assignment.size() ||
      (!is_header && names_.count(what) == 0)) {
    return Failure<std::string>("expected WHAT=NAME, where WHAT is one of " + known() +
                                " header:NAME response-header:NAME");
  }
  names_[std::move(what)] = {std::string(assignment.substr(equals + 1))};
  return {};
}

std::vector<std::string> FieldNames::of(const std::string& what) const {
  if (const auto found = names_.find(what); found != names_.end()) return found->second;
  const std::string header = what.substr(what.find(':') + 1);
  const std::string name = underscored(header);
  if (what.starts_with("response-header:")) {
    return {"sent_http_" + name, "upstream_http_" + name, "resp_headers." + header};
  }
  return {"http_" + name, name, "request.headers." + header};
}

std::string FieldNames::known() const {
  std::string all;
  for (const auto& [what, names] : usual) all.append(all.empty() ? "" : " ").append(what);
  return all;
}

JsonReader::JsonReader(const FieldNames& names, std::span<const WantedHeader> wanted) {
  const auto add = [&](std::size_t what, const std::string& told_by) {
    const std::vector<std::string> all = names.of(told_by);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      roles_[all[rank]].push_back({what, rank});
      longest_ = std::max(longest_, all[rank].size());
    }
  };
  for (std::size_t what = 0; what < headers; ++what) add(what, usual[what].what);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    add(headers + i, (wanted[i].of_response ? "response-header:" : "header:") + wanted[i].name);
  }
  found_.resize(headers + wanted.size());
}

std::string_view JsonReader::read(std::string_view line, LogEntry& entry) {
  if (!read_members(line)) return not_json;

  const Text when = found(time);
  if (!when) return no_time;
  std::optional<std::int64_t> at = clf_time_.read(*when);
  if (!at) at = read_iso_time(*when);
  if (!at) at = read_unix_time(*when);
  if (!at) return no_time;
  entry.at = *at;

  const std::string_view client = found(address).value_or("");
  entry.peer = policy::Address::parse(client);
  if (!entry.peer && client != "unix:") return no_address;

  if (const auto wrong = read_request(entry); !wrong.empty()) return wrong;
  if (const auto wrong = read_numbers(entry); !wrong.empty()) return wrong;
  if (const Text named = found(host)) entry.host = policy::without_port(*named);
  for (std::size_t i = headers; i < found_.size(); ++i) {
    const Text value = found(i);
    entry.headers[i - headers] = is_there(value) && *value != hidden ? value : std::nullopt;
  }
  return {};
}

bool JsonReader::read_members(std::string_view line) {
  texts_.clear();
  texts_.reserve(line.size());
  lists_.clear();
  lists_.reserve(line.size());  // views of it are kept
  path_.clear();
  std::fill(found_.begin(), found_.end(), Found{{}, nowhere});
  JsonScanner in(line, texts_, JsonScanner::Strings::any_bytes);
  return read_object(in, 0) && in.end();
}

// Members of objects inside are named like request.headers.Host.
bool JsonReader::read_object(JsonScanner& in, unsigned depth) {
  in.open('{');
  const std::size_t outer = path_.size();
  while (in.more('}')) {
    const auto name = in.name();
    if (!name) break;
    path_.append(*name);
    if (!read_value(in, depth)) return false;
    path_.resize(outer);
  }
  return true;
}

bool JsonReader::read_value(JsonScanner& in, unsigned depth) {
  if (in.sees('{')) {
    if (depth == depth_max) return in.skip();
    path_.push_back('.');
    return read_object(in, depth + 1);
  }
  if (in.sees('[')) return read_list(in);
  const bool is_string = in.sees('"');
  const auto value = is_string ? in.string() : in.word();
  if (!value || (!is_string && !is_literal(*value))) return false;
  if (is_string || *value != "null") keep(*value);
  return true;
}

// The lines of a header are a list of texts, and mean the same as one line with commas between.
bool JsonReader::read_list(JsonScanner& in) {
  const std::size_t begin = lists_.size();
  bool has_texts = false;
  in.open('[');
  while (in.more(']')) {
    if (!in.sees('"')) {
      if (in.sees('{') || in.sees('[') ? !in.skip() : !in.word()) return false;
      continue;
    }
    const auto text = in.string();
    if (!text) return false;
    lists_.append(has_texts ? ", " : "").append(*text);
    has_texts = true;
  }
  if (has_texts) keep(std::string_view(lists_).substr(begin));
  return true;
}

// The value of the member that `path_` names. Headers inside objects have their names as the client
// wrote them.
void JsonReader::keep(std::string_view value) {
  if (path_.size() > longest_) return;  // each member would read an outer name again
  auto roles = roles_.find(path_);
  if (roles == roles_.end() && path_.find('.') != path_.npos) roles = roles_.find(lowered(path_));
  if (roles == roles_.end()) return;
  for (const Role& role : roles->second) {
    if (role.rank < found_[role.what].rank) found_[role.what] = {value, role.rank};
  }
}

Text JsonReader::found(std::size_t what) const noexcept {
  if (found_[what].rank == nowhere) return std::nullopt;
  return found_[what].text;
}

std::string_view JsonReader::read_request(LogEntry& entry) const {
  entry.host = {};
  entry.query = std::nullopt;
  const Text named = found(target);
  if (is_there(named)) {
    entry.method = found(method).value_or("");
    entry.target = *named;
    if (entry.target.find('?') == entry.target.npos) entry.query = found(query);
    return {};
  }
  return split_request(found(request).value_or(""), entry) ? std::string_view{} : no_request;
}

std::string_view JsonReader::read_numbers(LogEntry& entry) const {
  std::uint64_t number = 0;
  if (is_there(found(status)) && (!read_count(found(status), number) || number > 999)) {
    return bad_status;
  }
  entry.status = static_cast<unsigned>(number);
  entry.response_bytes = 0;
  if (is_there(found(bytes)) && !read_count(found(bytes), entry.response_bytes)) return bad_bytes;
  entry.request_bytes = std::nullopt;
  if (is_there(found(request_bytes))) {
    if (!read_count(found(request_bytes), number)) return bad_bytes;
    entry.request_bytes = number;
  } else if (found(request_bytes)) {
    entry.request_bytes = 0;  // a request without Content-Length, as nearly all without a body
  }
  entry.took = 0;
  if (is_there(found(duration))) {
    const auto took = read_unix_time(*found(duration));
    if (!took || *took > took_max) return bad_duration;
    entry.took = *took;
  }
  return {};
}

}  // namespace headgate::sim
