#include "headgate/cli/fetch/transfer.h"

#include <charconv>
#include <exception>
#include <limits>
#include <new>

#include "headgate/base/ascii.h"
#include "headgate/cli/printable.h"
#include "headgate/field/header_line.h"

namespace headgate::cli {
namespace {

// A slow network connects within seconds; more than this is an unreachable server.
constexpr long connect_seconds = 30;
// As long as usual proxies wait for a server (nginx: proxy_read_timeout 60s).
constexpr long silent_seconds = 60;

// libcurl's largest length of a body.
constexpr std::uint64_t length_max = std::numeric_limits<curl_off_t>::max();

constexpr char too_large[] = "its body is larger than --max-size allows";

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  if (curl_easy_setopt(curl, option, value) != CURLE_OK) throw std::bad_alloc();
}

}  // namespace

FetchTransfer::FetchTransfer(const FetchTransport& transport)
    : transport_(transport), curl_(curl_easy_init()) {
  if (curl_ == nullptr) throw std::bad_alloc();
}

void FetchTransfer::prepare(const FetchUrl& url, bool trusted, std::function<void()> on_head) {
  on_head_ = std::move(on_head);
  body.reset();
  status_ = 0;
  in_head_ = headed_ = cut_ = false;
  head_bytes_ = unwanted_bytes_ = 0;
  fault_.clear();
  lines_.clear();
  words_[0] = '\0';
  prepared_ = std::chrono::steady_clock::now();

  CURL* const curl = curl_.get();
  curl_easy_reset(curl);
  headers_.reset();
  for (const std::string& header : transport_.headers) {
    if (!trusted) break;  // any of them can be a secret, such as X-Api-Key
    curl_slist* const longer = curl_slist_append(headers_.get(), header.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  }
  set(curl, CURLOPT_URL, url.text.c_str());
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(curl, CURLOPT_PIPEWAIT, 1L);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  // Rounded up: 0 would mean no limit.
  set(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(ceil_milliseconds(transport_.time_max)));
  set(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(curl, CURLOPT_LOW_SPEED_TIME, silent_seconds);
  set(curl, CURLOPT_USERAGENT, transport_.user_agent.c_str());
  set(curl, CURLOPT_HTTPHEADER, headers_.get());
  set(curl, CURLOPT_ERRORBUFFER, words_.data());
  set(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(curl, CURLOPT_HEADERFUNCTION, &FetchTransfer::on_header);
  set(curl, CURLOPT_HEADERDATA, this);
  set(curl, CURLOPT_WRITEFUNCTION, &FetchTransfer::on_body);
  set(curl, CURLOPT_WRITEDATA, this);
  set(curl, CURLOPT_PRIVATE, this);
  if (!transport_.certificates.empty()) {
    set(curl, CURLOPT_CAINFO, transport_.certificates.c_str());
    set(curl, CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // the system's
  }
}

std::size_t FetchTransfer::on_header(char* data, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<FetchTransfer*>(self);
  try {
    return transfer.take_header({data, size}) ? size : CURL_WRITEFUNC_ERROR;
  } catch (const std::exception& error) {
    transfer.fault_ = error.what();
    return CURL_WRITEFUNC_ERROR;
  }
}

std::size_t FetchTransfer::on_body(char* data, std::size_t, std::size_t size, void* self) {
  return static_cast<FetchTransfer*>(self)->take_body({data, size}) ? size : CURL_WRITEFUNC_ERROR;
}

bool FetchTransfer::take_header(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > head_bytes_max) {
    fault_ = "its header sections are longer than 256 KiB";
    return false;
  }
  if (headed_) return true;  // a trailer section
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    status_ = static_cast<int>(status);
    in_head_ = true;
    lines_.clear();
  } else if (line.starts_with(' ') || line.starts_with('\t')) {
    // RFC 9112, section 5.2. Other clients and proxies refuse it, too.
    fault_ = "a field of its header section is on several lines";
    return false;
  } else if (!line.empty()) {
    const auto colon = line.find(':');
    if (colon == line.npos) return true;
    lines_.push_back(
        {std::string(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
  } else {
    in_head_ = false;
    if (status_ < 200) return true;
    headed_ = true;
    on_head_();
    const auto announced = announced_bytes();
    if (!announced) {
      fault_ = "its Content-Length is not a length";
      return false;
    }
    if (body != nullptr && *announced > transport_.body_bytes_max) {
      fault_ = too_large;
      return false;
    }
  }
  return true;
}

// What Content-Length says of the body; 0 without one, and std::nullopt if it is no length, or if
// there are several (RFC 9112, section 6.3): libcurl would take the last one.
std::optional<std::uint64_t> FetchTransfer::announced_bytes() const noexcept {
  std::optional<std::uint64_t> all;
  for (const Line& line : lines_) {
    if (!field::is_named({line.name, line.value}, "content-length")) continue;
    std::uint64_t bytes = 0;
    const char* const end = line.value.data() + line.value.size();
    const auto [read, error] = std::from_chars(line.value.data(), end, bytes);
    // More than libcurl can count is a body without an end for it.
    if (error != std::errc() || read != end || bytes > length_max) return std::nullopt;
    if (all.value_or(bytes) != bytes) return std::nullopt;
    all = bytes;
  }
  return all.value_or(0);
}

bool FetchTransfer::take_body(std::string_view bytes) {
  if (body != nullptr) {
    if (bytes.size() > transport_.body_bytes_max - body->bytes()) {
      fault_ = too_large;
      return false;
    }
    if (body->write(bytes)) return true;
    fault_ = body->error();
    return false;
  }
  unwanted_bytes_ += bytes.size();
  cut_ = unwanted_bytes_ > unwanted_bytes_max;
  return !cut_;
}

std::string_view FetchTransfer::value_of(std::string_view lower_name) const noexcept {
  for (const Line& line : lines_) {
    if (field::is_named({line.name, line.value}, lower_name)) return line.value;
  }
  return {};
}

field::ResponseView FetchTransfer::view(std::int64_t unix_now) const {
  std::vector<field::HeaderLine> headers;
  headers.reserve(lines_.size());
  for (const Line& line : lines_) headers.push_back({line.name, line.value});
  return field::read_response(headers, unix_now);
}

bool FetchTransfer::took_too_long(CURLcode code) const noexcept {
  // Not curl's own total, which begins later than the time that curl limits. A hundredth less,
  // because curl's clock (CLOCK_MONOTONIC_RAW) may run a little faster than this one.
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - prepared_;
  return code == CURLE_OPERATION_TIMEDOUT &&
         took.count() >= transport_.time_max - transport_.time_max / 100;
}

std::string FetchTransfer::error(CURLcode code) const {
  if (!fault_.empty()) return fault_;
  if (took_too_long(code)) return "it takes longer than --max-time allows";
  if (code == CURLE_OK) return "the connection broke off in the header section";
  return printable(words_[0] != '\0' ? words_.data() : curl_easy_strerror(code));
}

}  // namespace headgate::cli
