#include "headgate/cli/fetch/fetcher.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <limits>
#include <system_error>
#include <utility>

#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

using client::Next;
using client::Why;

// After a broken connection, doubled with each further one.
constexpr Nanos first_backoff = nanos_per_second;
// Connections kept for the next requests, if --parallel is less: redirects lead to and fro between
// a few servers.
constexpr std::size_t connections_kept = 32;
constexpr std::int64_t idle_ms = 200;  // the progress line changes five times per second

Instant monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return {static_cast<Nanos>(now.tv_sec) * nanos_per_second + now.tv_nsec};
}

// Returns a descriptor that becomes readable at SIGINT or SIGTERM.
int watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

// Whether another try may succeed: the connection broke while the server worked on the request. Or
// the request waited for a connection that a proxy makes: libcurl 7.88 then fails with FAILED_INIT,
// and knows hardly another reason for it.
bool is_temporary(CURLcode code) {
  switch (code) {
    case CURLE_OK:  // in the header section
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_FAILED_INIT:
      return true;
    default:
      return false;
  }
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// The wait that the response requires, for a message. Empty if it requires none.
std::string required_wait(const field::ResponseView& view) {
  if (view.retry_after) return "Retry-After: " + std::to_string(*view.retry_after);
  const field::Member* longest = nullptr;
  for (const field::Member& member : view.members) {
    if (member.r != std::uint64_t{0} && member.r != std::uint64_t{1}) continue;
    if (longest == nullptr || longest->t < member.t) longest = &member;
  }
  if (longest == nullptr || !longest->t) return {};
  std::string words = longest->policy ? '"' + printable(*longest->policy) + '"' : "its limit";
  words += *longest->r == 0 ? " has nothing left for " : " has one request left for ";
  return words + std::to_string(*longest->t) + " s";
}

}  // namespace

Fetcher::Fetcher(FetcherOptions options, std::vector<FetchUrl> urls, FetchSink& sink)
    : options_(std::move(options)),
      urls_(std::move(urls)),
      sink_(sink),
      multi_(curl_multi_init()),
      signals_(watch_signals()),
      start_(monotonic_now()),
      now_(start_),
      progress_(start_) {
  if (multi_ == nullptr) throw std::bad_alloc();
  // libcurl would keep four connections per request, most of them to servers of which all URLs are
  // fetched. A process usually has 1024 descriptors, and bodies take some, too.
  const std::size_t kept = std::max(options_.parallel, connections_kept);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(kept));
  // Waits that no server requires are no reason to give it up, but none is shorter than the first.
  if (options_.wait_max) {
    options_.client.backoff_max =
        std::clamp(*options_.wait_max, first_backoff, options_.client.backoff_max);
  }
  for (std::size_t index = 0; index < urls_.size(); ++index) {
    if (sink_.has(index)) {
      ++report_.skipped;
      continue;
    }
    origin_of(urls_[index]).fresh.push_back(index);
    ++left_;
  }
}

Fetcher::~Fetcher() {
  for (const auto& under_way : under_way_) {
    curl_multi_remove_handle(multi_, under_way->transfer.handle());
  }
  under_way_.clear();
  idle_.clear();
  curl_multi_cleanup(multi_);
  close(signals_);
}

FetchReport Fetcher::run() {
  while (left_ > 0 && !interrupted_ && sink_.lost().empty()) {
    now_ = monotonic_now();
    start_allowed();
    int running = 0;
    curl_multi_perform(multi_, &running);
    const std::size_t before = under_way_.size();
    finish_ended();
    show_progress();
    if (under_way_.size() == before && left_ > 0) wait();
  }
  progress_.clear();
  report_.fetched -= sink_.waiting();
  report_.unfinished = left_ + sink_.waiting();
  if (!sink_.lost().empty()) {
    say(std::string(sink_.lost()) + "; " + std::to_string(report_.unfinished) + " left");
  }
  report_.seconds = static_cast<double>(monotonic_now().ns - start_.ns) / 1e9;
  return report_;
}

Fetcher::Origin& Fetcher::origin_of(const FetchUrl& url) {
  std::unique_ptr<Origin>& origin = origins_[url.origin];
  if (origin == nullptr) {
    client::Options client = options_.client;
    client.seed += origins_.size();
    origin = std::make_unique<Origin>(client, now_);
  }
  return *origin;
}

// ---- starting requests

void Fetcher::start_allowed() {
  soonest_.reset();
  take_postponed();
  const std::size_t most = share();
  for (const auto& [name, origin] : origins_) {
    while (start_one(*origin, most)) {
    }
  }
}

// The most requests that each origin may have under way now.
std::size_t Fetcher::share() const noexcept {
  const auto active = std::count_if(origins_.begin(), origins_.end(), [](const auto& named) {
    return named.second->tasks() > 0 || named.second->under_way > 0;
  });
  return std::max<std::size_t>(
      options_.parallel / static_cast<std::size_t>(std::max<std::ptrdiff_t>(active, 1)), 1);
}

bool Fetcher::start_one(Origin& origin, std::size_t share) {
  if (origin.tasks() == 0 || origin.under_way >= share) return false;
  if (under_way_.size() >= options_.parallel) return false;
  const std::size_t index =
      origin.again.empty() ? origin.fresh.front() : origin.again.front().index;
  if (!sink_.has_room(index)) return false;
  origin.pacer.set_backlog(origin.tasks());
  const Next next = next_of(origin);
  if (next.why == Why::answer) return false;
  if (next.why != Why::nothing) {
    if (options_.wait_max && next.at.ns - next.jitter - now_.ns > longest_wait(next.why)) {
      give_up(origin, next.why);
    } else if (!soonest_ || next.at < soonest_->at) {
      soonest_ = next;
    }
    return false;
  }

  std::unique_ptr<UnderWay> under_way;
  if (idle_.empty()) {
    under_way = std::make_unique<UnderWay>(options_.transport);
  } else {
    under_way = std::move(idle_.back());
    idle_.pop_back();
  }
  UnderWay& started = *under_way;
  started.task = take_task(origin);
  started.origin = &origin;
  ++origin.under_way;
  started.fault.clear();
  started.request = origin.pacer.begin(now_);
  ++report_.requests;
  started.transfer.prepare(started.task.url, started.task.trusted,
                           [this, &started] { on_head(started); });
  under_way_.push_back(std::move(under_way));
  if (curl_multi_add_handle(multi_, started.transfer.handle()) != CURLM_OK) throw std::bad_alloc();
  return true;
}

// The longest wait for which an origin is not given up, if there is one. The pauses of --rate are
// no wait that a server requires.
Nanos Fetcher::longest_wait(Why waits_for) const noexcept {
  const Nanos own = ceil_div<Nanos>(nanos_per_second, static_cast<Nanos>(options_.client.rate_max));
  return waits_for == Why::pace ? std::max(*options_.wait_max, own) : *options_.wait_max;
}

Fetcher::Task Fetcher::take_task(Origin& origin) {
  if (!origin.again.empty()) {
    Task task = std::move(origin.again.front());
    origin.again.pop_front();
    return task;
  }
  Task task;
  task.index = origin.fresh.front();
  task.url = urls_[task.index];
  origin.fresh.pop_front();
  return task;
}

Next Fetcher::next_of(const Origin& origin) const noexcept {
  Next next = origin.pacer.next(now_);
  if (now_ < origin.broken_until) next = later(next, {Why::backoff, origin.broken_until});
  return next;
}

void Fetcher::give_up(Origin& origin, Why waits_for) {
  const bool is_asked_for = waits_for == Why::retry_after || waits_for == Why::spent;
  std::string why = is_asked_for || !origin.wait_text.empty()
                        ? "the server asks for a longer wait than --max-wait allows"
                        : "the next request may begin only after a longer wait than --max-wait "
                          "allows";
  if (!origin.wait_text.empty()) why += " (" + origin.wait_text + ')';
  const std::size_t tasks = origin.tasks();
  const Task first = take_task(origin);
  say(shown(first.url) + ": " + why +
      (tasks > 1 ? "; so are " + std::to_string(tasks - 1) + " more URLs given up" : ""));
  for (Task task = first;; task = take_task(origin)) {
    report_.failures.push_back({shown(urls_[task.index]), why});
    sink_.drop(task.index);
    --left_;
    if (origin.tasks() == 0) return;
  }
}

// ---- responses

void Fetcher::on_head(UnderWay& under_way) {
  now_ = monotonic_now();
  Origin& origin = *under_way.origin;
  const int status = under_way.transfer.status();
  field::ResponseView view = under_way.transfer.view(time(nullptr));
  under_way.redirect_wait.reset();
  // It is for the redirected request (RFC 9110, section 10.2.3), not for others to this origin.
  if (leads_elsewhere(under_way)) std::swap(under_way.redirect_wait, view.retry_after);
  origin.pacer.receive(under_way.request, {status, view}, now_);
  under_way.denied = client::denies({status, view});
  origin.wait_text = required_wait(view);
  origin.broken = 0;
  if (under_way.denied) ++report_.denied;
  if (status / 100 != 2) return;
  auto body = sink_.begin(under_way.task.index);
  if (body) {
    under_way.transfer.body = *std::move(body);
  } else {
    under_way.fault = body.error();
  }
}

void Fetcher::finish_ended() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const handle = message->easy_handle;
    const CURLcode code = message->data.result;
    const auto found =
        std::find_if(under_way_.begin(), under_way_.end(),
                     [&](const auto& under_way) { return under_way->transfer.handle() == handle; });
    std::unique_ptr<UnderWay> under_way = std::move(*found);
    *found = std::move(under_way_.back());
    under_way_.pop_back();
    curl_multi_remove_handle(multi_, handle);
    now_ = monotonic_now();
    on_end(*under_way, code);
    under_way->transfer.body.reset();  // its file has a name that another try of the URL needs
    idle_.push_back(std::move(under_way));
  }
}

void Fetcher::on_end(UnderWay& under_way, CURLcode code) {
  under_way.origin->pacer.end(under_way.request);
  --under_way.origin->under_way;
  if (!under_way.fault.empty()) return fail(under_way.task, under_way.fault);
  const bool whole = code == CURLE_OK && !under_way.transfer.in_head();
  if (whole || under_way.transfer.cut()) return on_answer(under_way);
  on_broken(under_way, code);
}

void Fetcher::on_answer(UnderWay& under_way) {
  const int status = under_way.transfer.status();
  if (status / 100 == 2) return on_fetched(under_way);
  if (under_way.denied) return retry(under_way, "denied: " + std::to_string(status));
  const std::string_view location = under_way.transfer.value_of("location");
  if (is_redirect(status) && !location.empty()) return redirect(under_way, location);
  fail(under_way.task, "the server answers " + std::to_string(status));
}

void Fetcher::on_broken(UnderWay& under_way, CURLcode code) {
  const std::string why = under_way.transfer.error(code);
  // Another try would take as long.
  if (!is_temporary(code) || under_way.transfer.took_too_long(code)) {
    return fail(under_way.task, why);
  }
  Origin& origin = *under_way.origin;
  if (now_ >= origin.broken_until) {  // several that break at the same moment count once
    const Nanos backoff = first_backoff << std::min(origin.broken++, 20U);
    origin.broken_until = {
        now_.ns + std::min({backoff, options_.client.wait_max, options_.client.backoff_max})};
  }
  retry(under_way, why);
}

// Whether the response redirects to another origin.
bool Fetcher::leads_elsewhere(const UnderWay& under_way) {
  if (!is_redirect(under_way.transfer.status())) return false;
  const FetchUrl& url = under_way.task.url;
  const auto target = resolve_fetch_url(url.text, under_way.transfer.value_of("location"));
  return target && target->origin != url.origin;
}

void Fetcher::redirect(UnderWay& under_way, std::string_view location) {
  Task& task = under_way.task;
  auto target = resolve_fetch_url(task.url.text, location);
  if (!target) {
    return fail(task, "redirected to \"" + excerpt(location).text + "\": " + target.error());
  }
  if (++task.redirects > redirects_max) {
    return fail(task, "more than " + std::to_string(redirects_max) + " redirects");
  }
  task.trusted = target->origin == urls_[task.index].origin;
  task.url = *std::move(target);
  // At the same origin, the pacer waits.
  if (under_way.redirect_wait.value_or(0) > 0) {
    return postpone(std::move(task), *under_way.redirect_wait);
  }
  origin_of(task.url).again.push_back(std::move(task));
}

// A Retry-After in a redirect is for the request to which it leads, not for others to that origin.
void Fetcher::postpone(Task task, std::uint64_t seconds) {
  const Nanos wait =
      std::min(static_cast<Nanos>(seconds) * nanos_per_second, options_.client.wait_max);
  if (options_.wait_max && wait > *options_.wait_max) {
    return fail(task, "the server asks for a longer wait than --max-wait allows (Retry-After: " +
                          std::to_string(seconds) + ')');
  }
  postponed_.push_back({{now_.ns + wait}, std::move(task)});
}

void Fetcher::take_postponed() {
  for (std::size_t i = 0; i < postponed_.size();) {
    Postponed& postponed = postponed_[i];
    if (postponed.until > now_) {
      if (!soonest_ || postponed.until < soonest_->at) {
        soonest_ = Next{Why::retry_after, postponed.until};
      }
      ++i;
      continue;
    }
    origin_of(postponed.task.url).again.push_back(std::move(postponed.task));
    std::swap(postponed, postponed_.back());
    postponed_.pop_back();
  }
}

void Fetcher::retry(UnderWay& under_way, const std::string& why) {
  Task& task = under_way.task;
  if (++task.tries > options_.retries) {
    return fail(task, why + (task.tries > 1 ? ", " + std::to_string(task.tries) + " times" : ""));
  }
  under_way.origin->again.push_back(std::move(task));
}

void Fetcher::on_fetched(UnderWay& under_way) {
  const std::size_t bytes = under_way.transfer.body->bytes();
  const auto kept = sink_.keep(under_way.task.index, std::move(under_way.transfer.body));
  if (!kept) return fail(under_way.task, kept.error());
  ++report_.fetched;
  report_.bytes += bytes;
  --left_;
}

void Fetcher::fail(const Task& task, const std::string& why) {
  say(shown(task.url) + ": " + why);
  report_.failures.push_back({shown(urls_[task.index]), why});
  sink_.drop(task.index);
  --left_;
}

// ---- time and terminal

void Fetcher::wait() {
  now_ = monotonic_now();
  std::int64_t ms = under_way_.empty() && !soonest_ ? 0 : idle_ms;
  if (soonest_) ms = std::min(ms, ceil_milliseconds(soonest_->at.ns - now_.ns));
  curl_waitfd signals{signals_, CURL_WAIT_POLLIN, 0};
  int ready = 0;
  curl_multi_poll(multi_, &signals, 1, static_cast<int>(ms), &ready);
  if (under_way_.empty()) {
    report_.waiting += static_cast<double>(monotonic_now().ns - now_.ns) / 1e9;
  }
  signalfd_siginfo signal{};
  if (read(signals_, &signal, sizeof signal) == sizeof signal) interrupted_ = true;
}

void Fetcher::show_progress() {
  if (!progress_.due(now_)) return;
  FetchState state;
  state.all = urls_.size() - report_.skipped;
  state.done = state.all - left_;
  state.denied = report_.denied;
  if (soonest_) state.next = *soonest_;
  for (const auto& [name, origin] : origins_) {
    const auto standing = origin->pacer.standing(now_);
    if (standing && (!state.standing || standing->left < state.standing->left)) {
      state.standing = standing;
    }
  }
  progress_.show(state, now_);
}

void Fetcher::say(const std::string& words) {
  progress_.clear();
  std::cerr << "headgate fetch: " << words << '\n';
}

}  // namespace headgate::cli
