// The decision log of a server: lines go through a bounded queue to one thread that writes them.
//
// No thread that decides waits for a disk or for the reader of a pipe: lines that do not fit into
// the queue are dropped and counted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "headgate/base/file_end.h"

namespace headgate::server {

// Thread-safe.
class DecisionLog {
 public:
  // [bytes] Of the lines that wait; as many again may be in the hands of the thread. 4 MiB: some
  // 20,000 lines, more than a busy disk gets in a tenth of a second from a server under attack.
  static constexpr std::size_t waiting_max = std::size_t{4} << 20;
  // How long the end of the log waits for its file.
  static constexpr std::chrono::milliseconds patience{1000};

  DecisionLog() = default;
  // Writes the lines that wait, as far as the file takes them in time.
  ~DecisionLog();
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  // From now on lines go to this file, "-" for standard output; empty: the log is not used. If it
  // is the same as before, it is opened again: another program has renamed it. A file that cannot
  // be opened or written is reported, and tried again each second; so is a missing thread, which
  // the next call tries to start again. Throws std::bad_alloc.
  void open(const std::string& file);

  // Adds a line, with its newline.
  void add(std::string_view line) noexcept;

  // Lines that were not written because too many waited.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  void start() noexcept;
  void run() noexcept;
  void open_file();
  void close_file() noexcept;
  void take_former() noexcept;
  [[nodiscard]] std::size_t begun() const noexcept;
  void write_some();
  std::size_t drop_lines() noexcept;
  void fail(const char* what);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;         // guarded by the mutex, as the next five
  std::size_t former_ = 0;      // bytes of waiting_ that came before the last call of open()
  bool is_used_ = false;        // the last call of open() had a file
  std::string next_file_;       // that file, until the thread takes its name
  std::uint64_t openings_ = 0;  // calls of open()
  bool stops_ = false;
  std::atomic<std::uint64_t> dropped_{0};
  std::thread thread_;
  // Used by the thread only:
  std::string lines_;         // that are being written
  std::size_t written_ = 0;   // bytes of lines_
  FileEnd end_;               // of the file after them, if the last line is not whole there
  std::uint64_t opened_ = 0;  // the value of openings_ when the file was last opened
  std::string file_;          // its name
  int fd_ = -1;
  bool is_stream_ = false;  // a pipe, a socket or a terminal
  bool failed_ = false;     // and that was reported
};

}  // namespace headgate::server
