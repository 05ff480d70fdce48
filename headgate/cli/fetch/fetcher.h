// Fetches a list of URLs as fast as the rate limits of their servers allow.
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
  // The most requests at the same time, to all servers together. While several servers have URLs
  // left, each of them has at most its share, so that a slow one does not hold up the others.
  std::size_t parallel = 4;
  unsigned retries = 5;           // per URL, after a denial or a broken connection
  std::optional<Nanos> wait_max;  // a server that requires more is given up; absent: none
};

// Runs once. Has one pacer per origin. A redirect is a request of its own, paced by the origin to
// which it leads. Not thread-safe. Blocks SIGINT and SIGTERM, which end run() cleanly.
class Fetcher {
 public:
  Fetcher(FetcherOptions options, std::vector<FetchUrl> urls, FetchSink& sink);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Returns when all URLs are fetched or given up. Reports failures on standard error as they
  // happen. Throws std::bad_alloc, and std::system_error if the system gives no descriptor.
  [[nodiscard]] FetchReport run();
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

 private:
  static constexpr unsigned redirects_max = 10;  // more than any honest site; a loop ends here

  // One URL of the list, on its way through redirects and retries.
  struct Task {
    std::size_t index = 0;
    FetchUrl url;  // changes with each redirect
    unsigned redirects = 0;
    unsigned tries = 0;
    bool trusted = true;  // `url` is at the origin that the list names for it
  };
  // A redirect to another origin that is to be followed later.
  struct Postponed {
    Instant until;
    Task task;
  };
  struct Origin {
    explicit Origin(const client::Options& options, Instant now) : pacer(options, now) {}
    [[nodiscard]] std::size_t tasks() const noexcept { return again.size() + fresh.size(); }

    client::Pacer pacer;
    std::size_t under_way = 0;      // requests
    std::deque<std::size_t> fresh;  // indices of URLs not tried yet
    std::deque<Task> again;         // redirects and retries; they go first
    std::string wait_text;          // the wait that its last response required, for messages
    unsigned broken = 0;            // connections in a row that broke
    Instant broken_until{};         // no new request before, because of broken connections
  };
  // A request that is being sent or answered.
  struct UnderWay {
    UnderWay(const FetchTransport& transport) : transfer(transport) {}
    FetchTransfer transfer;
    Task task;
    Origin* origin = nullptr;
    client::Request request;
    bool denied = false;
    // Of a redirect to another origin: how long the request to there has to wait [s].
    std::optional<std::uint64_t> redirect_wait;
    std::string fault;  // why the sink does not take the body
  };

  [[nodiscard]] Origin& origin_of(const FetchUrl& url);
  void start_allowed();
  [[nodiscard]] std::size_t share() const noexcept;
  bool start_one(Origin& origin, std::size_t share);
  [[nodiscard]] Nanos longest_wait(client::Why waits_for) const noexcept;
  [[nodiscard]] Task take_task(Origin& origin);
  void give_up(Origin& origin, client::Why waits_for);
  [[nodiscard]] client::Next next_of(const Origin& origin) const noexcept;
  void on_head(UnderWay& under_way);
  void finish_ended();
  void on_end(UnderWay& under_way, CURLcode code);
  void on_answer(UnderWay& under_way);
  void on_broken(UnderWay& under_way, CURLcode code);
  [[nodiscard]] static bool leads_elsewhere(const UnderWay& under_way);
  void redirect(UnderWay& under_way, std::string_view location);
  void postpone(Task task, std::uint64_t seconds);
  void take_postponed();
  void retry(UnderWay& under_way, const std::string& why);
  void on_fetched(UnderWay& under_way);
  void fail(const Task& task, const std::string& why);
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
  std::vector<Postponed> postponed_;
  std::size_t left_ = 0;  // URLs neither fetched nor given up
  Instant start_;
  Instant now_;
  std::optional<client::Next> soonest_;  // of all origins that must wait, the first to go on
  FetchProgress progress_;
};

}  // namespace headgate::cli
