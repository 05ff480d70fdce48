// Fetches a list of URLs, as fast as their servers allow.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/cli/fetch/progress.h"
#include "headgate/cli/fetch/report.h"
#include "headgate/cli/fetch/sink.h"
#include "headgate/cli/fetch/transfer.h"
#include "headgate/cli/fetch/url.h"
#include "headgate/client/options.h"
#include "headgate/client/pacer.h"

namespace headgate::cli {

struct FetcherOptions {
  client::Options client;
  FetchTransport transport;
  std::size_t parallel = 4;       // requests under way at once, to all servers together
  unsigned retries = 5;           // of one URL, after a denial or a connection that broke
  std::optional<Nanos> wait_max;  // a server that asks for more is given up
};

// Runs once. One pacer an origin; redirects are requests of their own, to whichever origin they
// lead. Not thread-safe; blocks SIGINT and SIGTERM, which end it cleanly.
class Fetcher {
 public:
  Fetcher(FetcherOptions options, std::vector<FetchUrl> urls, FetchSink& sink);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Complaints go to standard error. Throws what the machine can't give: memory, sockets.
  [[nodiscard]] FetchReport run();
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

 private:
  static constexpr unsigned redirects_max = 10;

  // One URL of the list, on its way through redirects and retries.
  struct Job {
    std::size_t index = 0;
    FetchUrl url;  // where it is now
    unsigned redirects = 0;
    unsigned tries = 0;
    bool trusted = true;  // it has not left the origin that the list names
  };
  struct Origin {
    explicit Origin(const client::Options& options, Instant now) : pacer(options, now) {}
    [[nodiscard]] std::size_t jobs() const noexcept { return again.size() + fresh.size(); }

    client::Pacer pacer;
    std::deque<std::size_t> fresh;  // indices of URLs that were not tried
    std::deque<Job> again;          // on their way through redirects and retries: they go first
    std::string asks;               // in which words it last asked to wait
    unsigned broken = 0;            // connections in a row that broke
    Instant broken_until{};         // and how long that keeps others back
  };
  struct UnderWay {
    UnderWay(const FetchTransport& transport) : transfer(transport) {}
    FetchTransfer transfer;
    Job job;
    Origin* origin = nullptr;
    client::Request request;
    std::string fault;  // why the body has no place
  };

  [[nodiscard]] Origin& origin_of(const FetchUrl& url);
  void start_what_may();
  bool start_one(Origin& origin);
  [[nodiscard]] Job take_job(Origin& origin);
  void give_up(Origin& origin);
  [[nodiscard]] client::Next next_of(const Origin& origin) const noexcept;
  void head_came(UnderWay& under_way);
  void finish_what_ended();
  void ended(UnderWay& under_way, CURLcode code);
  void answered(UnderWay& under_way);
  void broke(UnderWay& under_way, CURLcode code);
  void redirect(UnderWay& under_way, std::string_view location);
  void retry(UnderWay& under_way, const std::string& why);
  void fetched(UnderWay& under_way);
  void fail(const Job& job, const std::string& why);
  void wait();
  void show_progress();
  void say(const std::string& words);

  FetcherOptions options_;
  std::vector<FetchUrl> urls_;
  FetchSink& sink_;
  FetchReport report_;

  CURLM* multi_;
  int signals_;
  bool interrupted_ = false;
  std::map<std::string, std::unique_ptr<Origin>> origins_;
  std::vector<std::unique_ptr<UnderWay>> idle_;
  std::vector<std::unique_ptr<UnderWay>> under_way_;
  std::size_t left_ = 0;  // URLs that are not done
  Instant start_;
  Instant now_;
  std::optional<client::Next> soonest_;  // of the origins that have to wait
  FetchProgress progress_;
};

}  // namespace headgate::cli
