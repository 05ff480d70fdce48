#include "headgate/server/decision_log.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>

#include "headgate/gate/decision_line.h"

namespace headgate::server {
namespace {

using Clock = std::chrono::steady_clock;

// After a failure, the file is tried again at this interval: soon enough that few lines are dropped
// when a disk has room again, and no load for a broken one.
constexpr std::chrono::milliseconds retry_interval{1000};
// While a pipe is full, the thread looks at this interval whether it is to do something else.
constexpr int look_interval = 100;  // [ms]

}  // namespace

DecisionLog::~DecisionLog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DecisionLog::open(const std::string& file) {
  std::string next = file;
  {
    const std::lock_guard lock(mutex_);
    next_file_.swap(next);
    is_used_ = !file.empty();
    former_ = waiting_.size();
    ++openings_;
    if (is_used_ && !thread_.joinable()) start();
  }
  changed_.notify_one();
}

// The server's signals are for its own thread. To be called with the mutex.
void DecisionLog::start() noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception& error) {
    spdlog::error(
        "the decision log {} has no thread: {}; SIGUSR1 tries again; lines wait, and are dropped "
        "if there are too many",
        next_file_, error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void DecisionLog::add(std::string_view line) noexcept {
  bool first = false;
  try {
    const std::lock_guard lock(mutex_);
    if (!is_used_) return;
    if (waiting_.size() + line.size() > waiting_max) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    first = waiting_.empty();
    waiting_ += line;
  } catch (const std::exception&) {  // only std::bad_alloc
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  if (first) changed_.notify_one();
}

void DecisionLog::run() noexcept {
  std::optional<Clock::time_point> end;
  while (true) {
    bool opens = false;
    {
      std::unique_lock lock(mutex_);
      const auto called = [&] { return stops_ || openings_ != opened_; };
      if (failed_) {
        changed_.wait_for(lock, retry_interval, called);
      } else {
        changed_.wait(lock, [&] { return called() || !waiting_.empty() || !lines_.empty(); });
      }
      if (stops_ && !end) end = Clock::now() + patience;
      opens = openings_ != opened_;
      opened_ = openings_;
      if (opens) {
        take_former();
        if (file_ != next_file_) failed_ = false;  // of this one, nothing is known
        file_.swap(next_file_);
      } else if (fd_ >= 0 && lines_.empty()) {
        // Without a file they wait where they are counted.
        lines_.swap(waiting_);
      }
    }
    if (opens && fd_ >= 0) {
      if (!lines_.empty()) write_some();
      close_file();
    }
    if (file_.empty()) drop_lines();  // the log is not used any more
    if (end && !opens && (lines_.empty() || Clock::now() >= *end)) break;
    if (fd_ < 0 && !file_.empty()) open_file();
    if (fd_ >= 0 && !lines_.empty()) write_some();
    if (end && failed_) break;
  }
  std::size_t lost = drop_lines();
  {
    const std::lock_guard lock(mutex_);
    lines_.swap(waiting_);
  }
  lost += drop_lines();
  if (lost > 0) spdlog::warn("{} lines of the decision log {} were not written", lost, file_);
  close_file();
}

// Takes the lines that are older than the last call of open(). If memory is short, they go to the
// same file as those behind them. To be called with the mutex.
void DecisionLog::take_former() noexcept {
  try {
    lines_.append(waiting_, 0, former_);
    waiting_.erase(0, former_);
  } catch (const std::exception&) {  // only std::bad_alloc
  }
  former_ = 0;
}

// Returns how many.
std::size_t DecisionLog::drop_lines() noexcept {
  const std::string_view left = std::string_view(lines_).substr(written_);
  const auto count = static_cast<std::size_t>(std::count(left.begin(), left.end(), '\n'));
  dropped_.fetch_add(count, std::memory_order_relaxed);
  lines_.clear();
  written_ = 0;
  return count;
}

void DecisionLog::open_file() {
  // A pipe without a reader, or with one that is busy, does not block.
  fd_ = file_ == "-"
            ? STDOUT_FILENO
            : ::open(file_.c_str(),
                     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
  if (fd_ < 0) return fail("opened");
  struct stat status {};
  is_stream_ = fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode);
  if (failed_) spdlog::info("the decision log {} is open again", file_);
  failed_ = false;
}

void DecisionLog::close_file() noexcept {
  if (fd_ >= 0 && fd_ != STDOUT_FILENO) ::close(fd_);
  fd_ = -1;
}

// Returns how many of the bytes written are of a line that is not whole in the file.
std::size_t DecisionLog::begun() const noexcept {
  return written_ - (std::string_view(lines_).substr(0, written_).rfind('\n') + 1);
}

// Writes as much as the file takes at once.
void DecisionLog::write_some() {
  pollfd ready{fd_, POLLOUT, 0};
  if (poll(&ready, 1, look_interval) <= 0) return;
  // A line goes on only where its beginning is: the file may be another one now, or be emptied.
  const std::size_t torn = begun();
  if (torn > 0 && FileEnd(fd_) != end_) written_ -= torn;
  const std::string_view left = std::string_view(lines_).substr(written_);
  // A pipe that is ready has room for PIPE_BUF bytes; a file takes as much as there is.
  const std::size_t most = is_stream_ ? gate::whole_lines(left) : left.size();
  const ssize_t size = ::write(fd_, left.data(), most);
  if (size < 0) {
    if (errno != EAGAIN && errno != EINTR) fail("written");
    return;
  }
  if (failed_) spdlog::info("the decision log {} is written again", file_);
  failed_ = false;
  written_ += static_cast<std::size_t>(size);
  if (written_ < lines_.size()) {
    end_ = FileEnd(fd_);
    return;
  }
  lines_.clear();
  written_ = 0;
}

// To be called with errno. Tries again later, with the file as it is, or with another one.
void DecisionLog::fail(const char* what) {
  const int error = errno;
  if (!failed_) {
    spdlog::error(
        "the decision log {} cannot be {}: {}; lines wait, and are dropped if there are too many",
        file_, what, std::strerror(error));
  }
  failed_ = true;
}

}  // namespace headgate::server
