#include "headgate/cli/fetch/url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

struct Cleanup {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
  void operator()(char* text) const noexcept { curl_free(text); }
};
using Handle = std::unique_ptr<CURLU, Cleanup>;

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  return std::unique_ptr<char, Cleanup>(text).get();
}

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
  });
}

Result<FetchUrl, std::string> read(CURLU* url) {
  const std::string scheme = part_of(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") {
    return Failure<std::string>("expected http:// or https://");
  }
  curl_url_set(url, CURLUPART_FRAGMENT, nullptr, 0);
  const std::string port = part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  FetchUrl parsed{part_of(url, CURLUPART_URL),
                  scheme + "://" + part_of(url, CURLUPART_HOST) + ':' + port};
  if (parsed.text.size() > fetch_url_bytes_max) {
    return Failure<std::string>("longer than " + std::to_string(fetch_url_bytes_max) + " bytes");
  }
  std::transform(parsed.origin.begin(), parsed.origin.end(), parsed.origin.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return parsed;
}

}  // namespace

Result<FetchUrl, std::string> parse_fetch_url(std::string_view text) {
  if (!is_plain(text)) {
    return Failure<std::string>("a space or control character; expected it as %20 and the like");
  }
  const Handle url(curl_url());
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), 0);
  if (code == CURLUE_BAD_SCHEME || code == CURLUE_UNSUPPORTED_SCHEME) {
    return Failure<std::string>("expected http:// or https://");
  }
  if (code != CURLUE_OK) return Failure<std::string>(curl_url_strerror(code));
  return read(url.get());
}

Result<FetchUrl, std::string> resolve_fetch_url(const std::string& base,
                                                std::string_view location) {
  const Handle url(curl_url());
  CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0);
  if (code == CURLUE_OK) {
    code = curl_url_set(url.get(), CURLUPART_URL, std::string(location).c_str(), CURLU_URLENCODE);
  }
  if (code != CURLUE_OK) return Failure<std::string>(curl_url_strerror(code));
  return read(url.get());
}

std::string shown(const FetchUrl& url) {
  const Handle handle(curl_url());
  if (curl_url_set(handle.get(), CURLUPART_URL, url.text.c_str(), 0) != CURLUE_OK) {
    return printable(url.origin);
  }
  curl_url_set(handle.get(), CURLUPART_USER, nullptr, 0);
  curl_url_set(handle.get(), CURLUPART_PASSWORD, nullptr, 0);
  return printable(part_of(handle.get(), CURLUPART_URL));
}

}  // namespace headgate::cli
