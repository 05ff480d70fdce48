// Requests to the HTTP door of a running server, for the commands that show or change its state.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// Ends the faults of an address where no headgate answers.
inline constexpr char expected_server[] =
    "; expected the --http address of headgate serve, the --metrics address of headgate gateway, "
    "or nginx' location with headgate_dashboard";

// Not thread-safe.
class ServerClient {
 public:
  // Each call of `leave` returns whether to give up. It is called about once per second while the
  // server is silent.
  using Leave = std::function<bool()>;

  // `url` is http://HOST:PORT, perhaps with a path that precedes all others, https://..., or
  // unix:PATH. An empty token is not sent. Throws std::bad_alloc.
  ServerClient(const std::string& url, const std::string& token, Leave leave = nullptr);
  ServerClient(const ServerClient&) = delete;
  ServerClient& operator=(const ServerClient&) = delete;

  struct Answer {
    long status = 0;
    std::string_view body;  // valid until the next request
  };
  // `path` is sent as it is, and a `body` that is not empty as JSON. Errors: a sentence for people
  // that begins with the URL.
  [[nodiscard]] Result<Answer, std::string> request(const std::string& method,
                                                    const std::string& path,
                                                    const std::string& body = "");

  // Returns "URL: WHY".
  [[nodiscard]] std::string fault(const std::string& why) const;

 private:
  struct Free {
    void operator()(CURL* curl) const noexcept { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };
  static std::size_t take(const char* bytes, std::size_t one, std::size_t count, void* client);
  static int progress(void* client, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  std::string url_;   // as the user wrote it
  std::string base_;  // without a slash at the end
  Leave leave_;
  std::string body_;
  using Fields = std::unique_ptr<curl_slist, Free>;
  static void append(Fields& fields, const std::string& line);
  Fields fields_;       // of every request
  Fields json_fields_;  // of those with a body
  std::unique_ptr<CURL, Free> curl_;
};

// Returns `text` as one segment of a path: all bytes but letters, digits and -._~ as %XX.
[[nodiscard]] std::string path_segment(std::string_view text);

}  // namespace headgate::cli
