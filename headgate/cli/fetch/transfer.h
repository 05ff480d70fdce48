// One request over libcurl, and its response.
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/cli/fetch/sink.h"
#include "headgate/cli/fetch/url.h"
#include "headgate/field/read/response.h"

namespace headgate::cli {

struct FetchTransport {
  std::vector<std::string> headers;  // "Name: value", sent to the origins of the list
  std::string user_agent;
  std::string certificates;  // file of authorities to trust; empty: the system's
  std::uint64_t body_bytes_max = std::uint64_t{1} << 30;
  Nanos time_max = 600 * nanos_per_second;  // from a request's begin to its end
};

// One request at a time; reused for the next. Must not move, because libcurl has its address.
// Not thread-safe.
class FetchTransfer {
 public:
  // The most bytes of all header sections of a response: four times what servers usually allow.
  static constexpr std::size_t head_bytes_max = std::size_t{256} << 10;
  // The most bytes that are read of a body that is not kept, such as an error page. Reading it to
  // its end keeps the connection; a longer one costs more than a new connection.
  static constexpr std::size_t unwanted_bytes_max = std::size_t{1} << 20;

  explicit FetchTransfer(const FetchTransport& transport);
  FetchTransfer(const FetchTransfer&) = delete;
  FetchTransfer& operator=(const FetchTransfer&) = delete;

  // Prepares a request to `url`. `trusted`: whether the transport's headers may be sent there.
  // `on_head` is called when the header section of the final response is complete; it may set body.
  void prepare(const FetchUrl& url, bool trusted, std::function<void()> on_head);
  [[nodiscard]] CURL* handle() const noexcept { return curl_.get(); }

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] std::string_view value_of(std::string_view lower_name) const noexcept;
  [[nodiscard]] field::ResponseView view(std::int64_t unix_now) const;

  std::unique_ptr<FetchBody> body;  // takes the response's body; null: discarded

  // Why it failed: our own reason, or else libcurl's for `code`.
  [[nodiscard]] std::string error(CURLcode code) const;
  // Whether a header section has begun and did not end. For libcurl a connection that is closed
  // then is the end of a good response.
  [[nodiscard]] bool in_head() const noexcept { return in_head_; }
  // Whether it ended only because the discarded body was longer than unwanted_bytes_max.
  [[nodiscard]] bool cut() const noexcept { return cut_; }
  // Whether it ended because it took longer than the transport's time_max.
  [[nodiscard]] bool took_too_long(CURLcode code) const noexcept;

 private:
  struct Free {
    void operator()(CURL* curl) const noexcept { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };
  struct Line {
    std::string name;
    std::string value;
  };

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self);
  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);
  [[nodiscard]] std::optional<std::uint64_t> announced_bytes() const noexcept;

  const FetchTransport& transport_;
  std::unique_ptr<CURL, Free> curl_;
  std::unique_ptr<curl_slist, Free> headers_;
  std::array<char, CURL_ERROR_SIZE> words_{};
  std::chrono::steady_clock::time_point prepared_{};
  std::function<void()> on_head_;

  int status_ = 0;
  bool in_head_ = false;
  bool headed_ = false;  // the header section of the final response is complete
  bool cut_ = false;
  std::size_t head_bytes_ = 0;
  std::size_t unwanted_bytes_ = 0;
  std::string fault_;
  std::vector<Line> lines_;
};

}  // namespace headgate::cli
