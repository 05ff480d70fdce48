#include "headgate/cli/http/server_client.h"

#include <new>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/base/hex.h"
#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

constexpr std::string_view unix_scheme = "unix:";
// /v1/policies with 10,000 policies has about 2.5 MB, and /v1/overrides with 10,000 of the longest
// keys and reasons 16 MB; all other answers are shorter.
constexpr std::size_t body_max = std::size_t{32} << 20;
// The server is near, and answers from memory: after these times it is considered stuck.
constexpr long connect_ms = 3000;
constexpr long response_ms = 5000;

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  if (curl_easy_setopt(curl, option, value) != CURLE_OK) throw std::bad_alloc();
}

}  // namespace

ServerClient::ServerClient(const std::string& url, const std::string& token, Leave leave)
    : url_(url), base_(url), leave_(std::move(leave)), curl_(curl_easy_init()) {
  CURL* const curl = curl_.get();
  if (curl == nullptr) throw std::bad_alloc();
  if (url.starts_with(unix_scheme)) {
    set(curl, CURLOPT_UNIX_SOCKET_PATH, url.substr(unix_scheme.size()).c_str());
    base_ = "http://localhost";
  }
  while (base_.ends_with('/')) base_.pop_back();
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_PROXY, "");  // the user's own server: no proxy between
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  set(curl, CURLOPT_TIMEOUT_MS, response_ms);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_PATH_AS_IS, 1L);
  if (!token.empty()) {
    for (Fields* fields : {&fields_, &json_fields_}) {
      append(*fields, "Authorization: Bearer " + token);
    }
  }
  append(json_fields_, "Content-Type: application/json");
  set(curl, CURLOPT_WRITEFUNCTION, &ServerClient::take);
  set(curl, CURLOPT_WRITEDATA, this);
  set(curl, CURLOPT_NOPROGRESS, 0L);
  set(curl, CURLOPT_XFERINFOFUNCTION, &ServerClient::progress);
  set(curl, CURLOPT_XFERINFODATA, this);
}

std::string ServerClient::fault(const std::string& why) const {
  return printable(url_) + ": " + why;
}

void ServerClient::append(Fields& fields, const std::string& line) {
  curl_slist* const longer = curl_slist_append(fields.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(fields.release());  // it is in the longer list
  fields.reset(longer);
}

Result<ServerClient::Answer, std::string> ServerClient::request(const std::string& method,
                                                                const std::string& path,
                                                                const std::string& body) {
  const auto fail = [&](const std::string& why) { return Failure<std::string>(fault(why)); };
  if (body.empty()) {
    set(curl_.get(), CURLOPT_HTTPGET, 1L);
    set(curl_.get(), CURLOPT_HTTPHEADER, fields_.get());
  } else {
    set(curl_.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    set(curl_.get(), CURLOPT_COPYPOSTFIELDS, body.c_str());
    set(curl_.get(), CURLOPT_HTTPHEADER, json_fields_.get());
  }
  set(curl_.get(), CURLOPT_CUSTOMREQUEST, method.c_str());
  set(curl_.get(), CURLOPT_URL, (base_ + path).c_str());
  body_.clear();
  switch (const CURLcode code = curl_easy_perform(curl_.get())) {
    case CURLE_OK:
      break;
    case CURLE_COULDNT_CONNECT:
      return fail(std::string("nothing listens there") + expected_server);
    case CURLE_OPERATION_TIMEDOUT:
      return fail("no answer within " + std::to_string(response_ms / 1000) + " s");
    case CURLE_WRITE_ERROR:
      return fail("the answer is too long to be headgate's");
    default:
      return fail(curl_easy_strerror(code));
  }
  Answer answer;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  answer.body = body_;
  return answer;
}

std::size_t ServerClient::take(const char* bytes, std::size_t one, std::size_t count,
                               void* client) {
  std::string& body = static_cast<ServerClient*>(client)->body_;
  if (one * count > body_max - body.size()) return 0;
  body.append(bytes, one * count);
  return one * count;
}

int ServerClient::progress(void* client, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const Leave& leave = static_cast<ServerClient*>(client)->leave_;
  return leave && leave() ? 1 : 0;
}

std::string path_segment(std::string_view text) {
  constexpr std::string_view plain = "-._~";
  std::string out;
  Appender appender{out};
  for (const char c : text) {
    if (is_digit(c) || is_letter(c) || plain.find(c) != plain.npos) {
      appender.put(c);
    } else {
      appender.put('%');
      put_hex(appender, c, upper_hex);
    }
  }
  return out;
}

}  // namespace headgate::cli
