// Reads /v1/top of a server for `headgate top`.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "headgate/base/result.h"
#include "headgate/cli/top/reading.h"

namespace headgate::cli {

// A client of a server's HTTP door. Not thread-safe.
class TopSource {
 public:
  // `url` is http://HOST:PORT, https://..., or unix:PATH. An empty token is not sent. `length` is
  // the number of partitions per list. `leave` is called about once per second while the server is
  // silent; if it returns true, read() fails. Throws std::bad_alloc.
  TopSource(const std::string& url, const std::string& token, std::size_t length,
            std::function<bool()> leave);

  // Errors: a sentence for people.
  [[nodiscard]] Result<TopReading, std::string> read();

 private:
  struct Free {
    void operator()(CURL* curl) const noexcept { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };
  static std::size_t take(const char* bytes, std::size_t one, std::size_t count, void* source);
  static int progress(void* source, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  std::string url_;
  std::function<bool()> leave_;
  std::string body_;
  std::unique_ptr<curl_slist, Free> fields_;
  std::unique_ptr<CURL, Free> curl_;
};

}  // namespace headgate::cli
