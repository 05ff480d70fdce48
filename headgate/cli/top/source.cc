#include "headgate/cli/top/source.h"

#include <new>
#include <string_view>
#include <utility>

#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

constexpr std::string_view unix_scheme = "unix:";
// Two lists of 100 rows (the most that -n allows) with the longest keys are well below this.
constexpr std::size_t body_max = std::size_t{1} << 20;
// The server is near, and answers from memory: after these times it is considered stuck.
constexpr long connect_ms = 3000;
constexpr long response_ms = 5000;

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  if (curl_easy_setopt(curl, option, value) != CURLE_OK) throw std::bad_alloc();
}

}  // namespace

TopSource::TopSource(const std::string& url, const std::string& token, std::size_t length,
                     std::function<bool()> leave)
    : url_(url), leave_(std::move(leave)), curl_(curl_easy_init()) {
  CURL* const curl = curl_.get();
  if (curl == nullptr) throw std::bad_alloc();
  std::string base = url;
  if (url.starts_with(unix_scheme)) {
    set(curl, CURLOPT_UNIX_SOCKET_PATH, url.substr(unix_scheme.size()).c_str());
    base = "http://localhost";
  }
  while (base.ends_with('/')) base.pop_back();
  set(curl, CURLOPT_URL, (base + "/v1/top?n=" + std::to_string(length)).c_str());
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_PROXY, "");  // the user's own server: no proxy between
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  set(curl, CURLOPT_TIMEOUT_MS, response_ms);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  if (!token.empty()) {
    fields_.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str()));
    if (fields_ == nullptr) throw std::bad_alloc();
    set(curl, CURLOPT_HTTPHEADER, fields_.get());
  }
  set(curl, CURLOPT_WRITEFUNCTION, &TopSource::take);
  set(curl, CURLOPT_WRITEDATA, this);
  set(curl, CURLOPT_NOPROGRESS, 0L);
  set(curl, CURLOPT_XFERINFOFUNCTION, &TopSource::progress);
  set(curl, CURLOPT_XFERINFODATA, this);
}

Result<TopReading, std::string> TopSource::read() {
  const auto fail = [&](const std::string& why) {
    return Failure<std::string>(printable(url_) + ": " + why);
  };
  body_.clear();
  switch (const CURLcode code = curl_easy_perform(curl_.get())) {
    case CURLE_OK:
      break;
    case CURLE_COULDNT_CONNECT:
      return fail("nothing listens there; expected the --http address of a headgate serve");
    case CURLE_OPERATION_TIMEDOUT:
      return fail("no answer within " + std::to_string(response_ms / 1000) + " s");
    case CURLE_WRITE_ERROR:
      return fail("the answer is too long to be headgate's");
    default:
      return fail(curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 401) return fail("the server wants its token; expected --token-file FILE with it");
  if (status != 200) {
    return fail("answered with status " + std::to_string(status) +
                "; expected the --http address of a headgate serve");
  }
  auto reading = TopReading::parse(body_);
  if (!reading) {
    return fail(reading.error() + "; expected the --http address of a headgate serve");
  }
  return reading;
}

std::size_t TopSource::take(const char* bytes, std::size_t one, std::size_t count, void* source) {
  std::string& body = static_cast<TopSource*>(source)->body_;
  if (one * count > body_max - body.size()) return 0;
  body.append(bytes, one * count);
  return one * count;
}

int TopSource::progress(void* source, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<TopSource*>(source)->leave_() ? 1 : 0;
}

}  // namespace headgate::cli
