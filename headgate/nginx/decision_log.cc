#include "headgate/nginx/decision_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "headgate/base/file_end.h"
#include "headgate/gate/decision_line.h"
#include "headgate/gate/decision_sampler.h"
#include "headgate/gate/gate.h"
#include "headgate/nginx/interval.h"
#include "headgate/nginx/nginx_request.h"
#include "headgate/policy/address/client_address.h"

namespace headgate::nginx {
namespace {

// Half of a pipe's usual room, and some hundred lines.
constexpr std::size_t buffer_size = 32768;
// A line is in the file after this time [ms] at the latest.
constexpr ngx_msec_t flush_interval = 1000;

// Of a worker.
struct Buffer {
  std::array<char, buffer_size> bytes{};
  std::size_t size = 0;
  std::size_t begun = 0;             // bytes of the first line that are in the file already
  FileEnd end;                       // of the file after them
  ngx_open_file_t* file = nullptr;   // where its bytes belong
  ngx_event_t timer{};               // while it is not empty
  Interval between_reports{60'000};  // of a file that cannot be written
};

Buffer buffer;

void count_dropped(std::string_view lines) noexcept {
  const MainConf* conf = conf_of(const_cast<const ngx_cycle_t*>(ngx_cycle));
  if (conf == nullptr || conf->counters == nullptr) return;
  conf->counters->module().decision_lines_dropped.fetch_add(
      static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n')),
      std::memory_order_relaxed);
}

// Whether the file is a pipe or the like. It then takes what it can at once: nobody waits for its
// reader.
bool is_stream(ngx_fd_t fd) noexcept {
  struct stat status {};
  if (fstat(fd, &status) != 0 || S_ISREG(status.st_mode)) return false;
  const int flags = fcntl(fd, F_GETFL);
  if ((flags & O_NONBLOCK) == 0) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  return true;
}

extern "C" void flush_in_time(ngx_event_t*) noexcept;

void start_timer() noexcept {
  if (buffer.timer.timer_set) return;
  buffer.timer.handler = flush_in_time;
  buffer.timer.data = &buffer;
  buffer.timer.log = ngx_cycle->log;
  buffer.timer.cancelable = 1;  // a worker that exits flushes
  ngx_add_timer(&buffer.timer, flush_interval);
}

// Keeps the line of which a part is written, for the next time, and drops the other lines.
void keep_begun(std::size_t written) noexcept {
  const std::string_view lines(buffer.bytes.data(), buffer.size);
  const std::size_t first = lines.substr(0, written).rfind('\n') + 1;
  const std::size_t last = first == written ? written : lines.find('\n', written) + 1;
  count_dropped(lines.substr(last));
  std::memmove(buffer.bytes.data(), lines.data() + first, last - first);
  buffer.size = last - first;
  buffer.begun = written - first;
  if (buffer.begun == 0) return;
  buffer.end = FileEnd(buffer.file->fd);
  start_timer();
}

void write_out() noexcept {
  if (buffer.timer.timer_set) ngx_del_timer(&buffer.timer);
  if (buffer.size == 0) return;
  const ngx_fd_t fd = buffer.file->fd;
  const bool stream = is_stream(fd);
  // A line goes on only where its beginning is: the file may be another one now, be emptied, or
  // have lines of other workers.
  std::size_t written = buffer.begun > 0 && FileEnd(fd) != buffer.end ? 0 : buffer.begun;
  while (written < buffer.size) {
    const std::string_view left(buffer.bytes.data() + written, buffer.size - written);
    const std::size_t size = stream ? gate::whole_lines(left) : left.size();
    const ssize_t taken = ngx_write_fd(fd, const_cast<char*>(left.data()), size);
    if (taken > 0) written += static_cast<std::size_t>(taken);
    if (taken == static_cast<ssize_t>(size)) continue;
    const ngx_err_t error = taken < 0 ? ngx_errno : NGX_ENOSPC;
    if (error == NGX_EINTR) continue;
    keep_begun(written);
    if (error != NGX_EAGAIN && buffer.between_reports.restart_if_over()) {
      ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, error, "the decision log \"%V\" cannot be written",
                    &buffer.file->name);
    }
    return;
  }
  buffer.size = 0;
  buffer.begun = 0;
}

// nginx opens its files so that it waits for a reader of a named pipe: as long as that takes, there
// would be no reload and no new worker.
void hold_pipe(MainConf& conf) noexcept {
  conf.decision_pipe.hold(reinterpret_cast<const char*>(conf.decision_log->name.data));
}

extern "C" void flush_file(ngx_open_file_t* file, ngx_log_t*) noexcept {
  if (buffer.file == file) write_out();
  // nginx opens it again now, and there may be another pipe at its path.
  MainConf* conf = conf_of(const_cast<const ngx_cycle_t*>(ngx_cycle));
  if (conf != nullptr && conf->decision_log == file) hold_pipe(*conf);
}

extern "C" void flush_in_time(ngx_event_t*) noexcept { write_out(); }

void add(ngx_open_file_t* file, std::string_view line) noexcept {
  if (buffer.file != file || buffer.size + line.size() > buffer.bytes.size()) write_out();
  buffer.file = file;
  std::memcpy(buffer.bytes.data() + buffer.size, line.data(), line.size());
  buffer.size += line.size();
  start_timer();
}

}  // namespace

bool open_decision_log(ngx_conf_t* cf, MainConf& conf) noexcept {
  const auto& log = conf.policies->settings().decisions;
  if (!log) return true;
  const std::string_view path = log->file == "-" ? "/dev/stdout" : std::string_view(log->file);
  ngx_str_t name{path.size(), static_cast<u_char*>(ngx_pnalloc(cf->pool, path.size() + 1))};
  if (name.data == nullptr) return false;
  *std::copy(path.begin(), path.end(), name.data) = '\0';  // nginx passes it to open()
  conf.decision_log = ngx_conf_open_file(cf->cycle, &name);
  if (conf.decision_log == nullptr) return false;
  if (conf.decision_log->flush != nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "the file of \"decisions\", \"%V\", is a buffered log of nginx, too; "
                       "expected one of its own",
                       &name);
    return false;
  }
  conf.decision_log->flush = flush_file;
  hold_pipe(conf);
  return true;
}

void log_decision(ngx_http_request_t* r, const gate::DecisionContext& decision) noexcept {
  const MainConf* conf = conf_of(const_cast<const ngx_cycle_t*>(ngx_cycle));
  if (conf == nullptr || conf->decision_log == nullptr) return;
  static gate::DecisionSampler sampler;  // made in the worker: each has another secret
  const policy::Settings& settings = conf->policies->settings();
  const policy::DecisionLogSettings& log = *settings.decisions;
  if (!gate::has_line(log, decision) || !sampler.choose(log.sample_percent)) return;

  gate::DecisionScene scene{.door = "nginx"};
  const ngx_time_t* const now = ngx_timeofday();
  scene.unix_ms = static_cast<std::int64_t>(now->sec) * 1000 + now->msec;
  std::array<char, policy::Address::text_max> address;
  if (r != nullptr) {
    const NginxHeaders headers{r->headers_in.headers};
    const policy::Request request = client_request(r, headers);
    scene.method = request.method;
    scene.host = request.host;
    scene.path = request.path;
    scene.client = gate::client_text(request, settings, address);
  }
  gate::DecisionLineRoom room;
  add(conf->decision_log, gate::write_line(log, scene, decision, room));
}

void flush_decision_log() noexcept {
  write_out();
  count_dropped({buffer.bytes.data(), buffer.size});
}

}  // namespace headgate::nginx
