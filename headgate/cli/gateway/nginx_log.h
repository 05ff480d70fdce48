// Reads nginx's error log, and rewords the messages that users are likely to see.
#pragma once

#include <string>
#include <string_view>

namespace headgate::cli {

// One line of nginx's error log.
struct NginxLog {
  enum class Event {
    none,
    started,       // workers that start from now on have the new configuration
    worker_start,  // `worker` has started
    worker_leave,  // `worker` accepts no more connections
    no_worker,     // none could be started (`worker` is 0), or `worker` ended and is not replaced
    refused,       // [emerg]: nginx rejects the configuration
    reopened,      // the writer opens its logs again
    warned,        // of something in the configuration, which is accepted
  };

  Event event = Event::none;
  int writer = 0;      // the process id of who has written the line; 0: not known
  int worker = 0;      // process id
  bool quiet = false;  // not to be shown
  std::string words;   // the text to show
};

// Parses "2024/05/01 12:00:00 [warn] 12#12: ..." and "nginx: [emerg] ...". The words of any other
// line are the line itself; those of a fault of `policy_file` begin with its "FILE:LINE:COLUMN:".
[[nodiscard]] NginxLog read_nginx_log(std::string_view line, std::string_view policy_file);

}  // namespace headgate::cli
