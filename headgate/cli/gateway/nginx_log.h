// What nginx says on its standard error, in words for people.
#pragma once

#include <string>
#include <string_view>

namespace headgate::cli {

// One line of nginx's error log.
struct NginxLog {
  enum class Event {
    none,
    started,       // the configuration is in force for the workers that start from now on
    worker_start,  // `worker` was started
    worker_leave,  // `worker` takes no new connections any more
    refused,       // [emerg]: the configuration is not used
  };

  Event event = Event::none;
  int worker = 0;      // process id
  bool quiet = false;  // of no interest to people
  std::string words;   // what to show
};

// Understands "2024/05/01 12:00:00 [warn] 12#12: ..." and "nginx: [emerg] ..."; anything else is
// shown as it is. A fault of `policy_file` is shown from its "FILE:LINE:COLUMN:" on.
[[nodiscard]] NginxLog read_nginx_log(std::string_view line, std::string_view policy_file);

}  // namespace headgate::cli
