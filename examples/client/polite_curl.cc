// A client on libcurl that gets no denials: it sends one request after the other, each when the
// server's rate limit fields allow it.
//
//   polite_curl URL COUNT
#include <curl/curl.h>
#include <headgate/client/pacer.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace client = headgate::client;
namespace field = headgate::field;
using Headers = std::vector<std::pair<std::string, std::string>>;

// The pacer's time. Any clock that does not go back will do.
headgate::Instant now() {
  return {std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

std::string trimmed(std::string text) {
  const auto from = text.find_first_not_of(" \t\r\n");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") + 1 - from);
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* to) {
  const std::string line(data, size);
  auto& headers = *static_cast<Headers*>(to);
  if (line.starts_with("HTTP/")) headers.clear();  // an interim response came before
  const auto colon = line.find(':');
  if (colon != line.npos) {
    headers.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return size;
}

std::size_t on_body(char*, std::size_t, std::size_t size, void*) { return size; }

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: polite_curl URL COUNT\n";
    return 2;
  }
  client::Options options;
  options.seed = std::random_device()();
  client::Pacer pacer(options, now());

  CURL* const curl = curl_easy_init();
  Headers headers;
  curl_easy_setopt(curl, CURLOPT_URL, argv[1]);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);

  int fetched = 0;
  int denied = 0;
  for (const int count = std::atoi(argv[2]); fetched < count;) {
    const client::Next next = pacer.next(now());
    if (next.why != client::Why::nothing) {
      const auto wait = static_cast<std::int64_t>(next.at.ns - now().ns);
      std::this_thread::sleep_for(std::chrono::nanoseconds(wait));
      continue;
    }
    client::Request request = pacer.begin(now());
    const CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK) {
      pacer.end(request);
      std::cerr << "polite_curl: " << curl_easy_strerror(code) << '\n';
      return 1;
    }
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    std::vector<field::HeaderLine> lines;
    for (const auto& [name, value] : headers) lines.push_back({name, value});
    const field::ResponseView view = field::read_response(lines, std::time(nullptr));
    pacer.receive(request, {static_cast<int>(status), view}, now());
    pacer.end(request);
    ++(client::denies({static_cast<int>(status), view}) ? denied : fetched);
  }
  curl_easy_cleanup(curl);
  std::cout << fetched << " fetched, " << denied << " denied\n";
}
