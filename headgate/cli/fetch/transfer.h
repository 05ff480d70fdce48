// One request over libcurl, and its answer.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/cli/fetch/sink.h"
#include "headgate/cli/fetch/url.h"
#include "headgate/field/read/response.h"

namespace headgate::cli {

struct FetchTransport {
  std::vector<std::string> headers;  // "Name: value", sent with every request
  std::string user_agent;
  std::string certificates;  // file of authorities to trust; empty: the system's
};

// A request that is under way. Stays where it is, for libcurl has its address. Reused for one
// request after the other.
class FetchTransfer {
 public:
  // All header sections of an answer together may not be longer, nor may a body that nobody wants.
  static constexpr std::size_t head_bytes_max = std::size_t{256} << 10;
  static constexpr std::size_t unwanted_bytes_max = std::size_t{1} << 20;

  explicit FetchTransfer(const FetchTransport& transport);
  FetchTransfer(const FetchTransfer&) = delete;
  FetchTransfer& operator=(const FetchTransfer&) = delete;

  // Makes it ready for `url`. `trusted`: whether headers with secrets may go there.
  // `on_head` is called once the header section of the final answer is there; it may set body.
  void prepare(const FetchUrl& url, bool trusted, std::function<void()> on_head);
  [[nodiscard]] CURL* handle() const noexcept { return curl_.get(); }

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] std::string_view value_of(std::string_view lower_name) const noexcept;
  [[nodiscard]] field::ResponseView view(std::int64_t unix_now) const;

  std::unique_ptr<FetchBody> body;  // where it goes; null: nobody wants it

  // Why it ended as `code` says, where that is not libcurl's own reason.
  [[nodiscard]] std::string error(CURLcode code) const;
  // Whether what arrived is as much as anyone wanted, although `code` says that it broke off.
  [[nodiscard]] bool cut() const noexcept { return cut_; }

 private:
  struct Free {
    void operator()(CURL* curl) const noexcept { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };
  struct Line {
    std::string name;
    std::string value;
  };

  static std::size_t header_came(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t body_came(char* data, std::size_t, std::size_t size, void* self);
  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);

  const FetchTransport& transport_;
  std::unique_ptr<CURL, Free> curl_;
  std::unique_ptr<curl_slist, Free> headers_;
  std::array<char, CURL_ERROR_SIZE> words_{};
  std::function<void()> on_head_;

  int status_ = 0;
  bool headed_ = false;  // the final answer's header section is complete
  bool cut_ = false;
  std::size_t head_bytes_ = 0;
  std::size_t unwanted_bytes_ = 0;
  std::string fault_;
  std::vector<Line> lines_;
};

}  // namespace headgate::cli
