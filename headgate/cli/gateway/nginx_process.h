// nginx as a child process, with its standard error in a pipe.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"

namespace headgate::cli {

// Returns the path of nginx: from PATH, or else /usr/sbin or /usr/local/sbin. "" if there is none.
[[nodiscard]] std::string find_nginx();

// The master process and its workers form a process group of their own, so that a terminal's Ctrl-C
// reaches only this process, which decides how nginx ends. If this process is killed, the kernel
// sends SIGTERM to the master. Not thread-safe.
class NginxProcess {
 public:
  // Runs `nginx -p PREFIX -c PREFIX/nginx.conf`, which inherits the listening `sockets`, and writes
  // to `output`; -1: to this process' standard output.
  [[nodiscard]] static Result<NginxProcess, std::string> start(const std::string& nginx,
                                                               const std::string& prefix,
                                                               const std::vector<int>& sockets,
                                                               int output);

  NginxProcess(NginxProcess&& other) noexcept;
  NginxProcess& operator=(NginxProcess&&) = delete;
  ~NginxProcess();  // kills what still runs and waits for it

  void send(int signal) const noexcept;  // to the master
  [[nodiscard]] bool is_master(pid_t pid) const noexcept { return pid == master_; }

  // Becomes readable when nginx has written something, or has ended.
  [[nodiscard]] int log_fd() const noexcept { return log_fd_; }

  // Reads what nginx has written and calls `line` for each complete line. Returns false at the end,
  // when the master and all workers have closed the pipe.
  bool read_log(const std::function<void(std::string_view)>& line);

  // Collects processes that have ended. Returns true once the master has, with its wait status in
  // *status.
  bool reap(int* status) noexcept;

 private:
  NginxProcess(pid_t master, int log_fd) noexcept : master_(master), log_fd_(log_fd) {}

  pid_t master_;
  int log_fd_;
  bool ended_ = false;
  std::string partial_;  // a line whose end has not been read
};

}  // namespace headgate::cli
