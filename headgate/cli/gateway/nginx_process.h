// nginx as a child process, with its standard error in our hands.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"

namespace headgate::cli {

// The path of the nginx to run: from PATH, or where Debian puts it. "" if there is none.
[[nodiscard]] std::string find_nginx();

// The master process and its workers form a process group of their own, so that a terminal's
// Ctrl-C reaches us alone and we decide how nginx ends. If we die, so does nginx.
class NginxProcess {
 public:
  // Runs `nginx -p PREFIX -c PREFIX/nginx.conf`, which inherits the listening `sockets`.
  [[nodiscard]] static Result<NginxProcess, std::string> start(const std::string& nginx,
                                                               const std::string& prefix,
                                                               const std::vector<int>& sockets);

  NginxProcess(NginxProcess&& other) noexcept;
  NginxProcess& operator=(NginxProcess&&) = delete;
  ~NginxProcess();  // kills what still runs and waits for it

  void send(int signal) const noexcept;  // to the master

  // Readable when nginx has said something, or has ended.
  [[nodiscard]] int log_fd() const noexcept { return log_fd_; }

  // Reads what nginx has said and calls `line` for each whole line. False at the end: nobody
  // is left who could say something.
  bool read_log(const std::function<void(std::string_view)>& line);

  // Collects ended processes. True once the master is among them; wait status in *status.
  bool reap(int* status) noexcept;

 private:
  NginxProcess(pid_t master, int log_fd) noexcept : master_(master), log_fd_(log_fd) {}

  pid_t master_;
  int log_fd_;
  bool ended_ = false;
  std::string partial_;  // a line without its end yet
};

}  // namespace headgate::cli
