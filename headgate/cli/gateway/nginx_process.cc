#include "headgate/cli/gateway/nginx_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace headgate::cli {
namespace {

// nginx cuts its lines at 2048 bytes. More is some library's output without line ends: discarded.
constexpr std::size_t log_line_max = 64 * 1024;

// In the child, between fork and exec.
[[noreturn]] void become_nginx(const std::string& nginx, const std::string& prefix,
                               const std::vector<int>& sockets, const std::string& inherited,
                               int log_fd, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // the parent died before prctl()
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  for (const int fd : sockets) fcntl(fd, F_SETFD, 0);
  setenv("NGINX", inherited.c_str(), 1);  // nginx takes inherited sockets from this variable
  const std::string conf = prefix + "/nginx.conf";
  execl(nginx.c_str(), "nginx", "-p", prefix.c_str(), "-c", conf.c_str(), "-e", "stderr",
        static_cast<char*>(nullptr));
  dprintf(STDERR_FILENO, "nginx: [emerg] %s can't be run: %s\n", nginx.c_str(), strerror(errno));
  _exit(1);
}

}  // namespace

std::string find_nginx() {
  const char* path = std::getenv("PATH");
  std::string rest = std::string(path != nullptr ? path : "") + ":/usr/sbin:/usr/local/sbin";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string file = rest.substr(0, colon) + "/nginx";
    if (file.front() == '/' && access(file.c_str(), X_OK) == 0) return file;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return "";
}

Result<NginxProcess, std::string> NginxProcess::start(const std::string& nginx,
                                                      const std::string& prefix,
                                                      const std::vector<int>& sockets, int output) {
  int log[2];
  if (pipe2(log, O_CLOEXEC) != 0) return Failure<std::string>(std::strerror(errno));
  std::string inherited;
  for (const int fd : sockets) inherited += std::to_string(fd) + ';';
  // Workers whose master is killed become children of this process, so that it can wait for them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = getpid();
  const pid_t master = fork();
  if (master == 0) become_nginx(nginx, prefix, sockets, inherited, log[1], output, parent);
  close(log[1]);
  if (master < 0) {
    close(log[0]);
    return Failure<std::string>(std::strerror(errno));
  }
  setpgid(master, master);  // in both processes: either may run first
  fcntl(log[0], F_SETFL, O_NONBLOCK);
  return NginxProcess(master, log[0]);
}

NginxProcess::NginxProcess(NginxProcess&& other) noexcept
    : master_(std::exchange(other.master_, -1)),
      log_fd_(std::exchange(other.log_fd_, -1)),
      ended_(other.ended_),
      partial_(std::move(other.partial_)) {}

NginxProcess::~NginxProcess() {
  if (master_ < 0) return;
  // Send nothing to a group without processes: the kernel may have given its id to another group.
  for (pid_t pid; (pid = waitpid(-master_, nullptr, WNOHANG)) >= 0 || errno == EINTR;) {
    if (pid != 0) continue;
    kill(-master_, SIGKILL);
    waitpid(-master_, nullptr, 0);
  }
  close(log_fd_);
}

void NginxProcess::send(int signal) const noexcept {
  if (!ended_) kill(master_, signal);
}

bool NginxProcess::read_log(const std::function<void(std::string_view)>& line) {
  char bytes[4096];
  for (;;) {
    const ssize_t size = read(log_fd_, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) {
      if (!partial_.empty()) line(partial_);
      partial_.clear();
      return false;
    }
    partial_.append(bytes, static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end; (end = partial_.find('\n', begin)) != std::string::npos;) {
      line(std::string_view(partial_).substr(begin, end - begin));
      begin = end + 1;
    }
    partial_.erase(0, begin);
    if (partial_.size() > log_line_max) partial_.clear();
  }
}

bool NginxProcess::reap(int* status) noexcept {
  int ended = 0;
  for (pid_t pid; (pid = waitpid(-master_, &ended, WNOHANG)) > 0;) {
    if (pid != master_) continue;
    ended_ = true;
    *status = ended;
  }
  return ended_;
}

}  // namespace headgate::cli
