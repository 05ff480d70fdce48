// The results of replaying access logs, for people.
#pragma once

#include <string>

#include "headgate/sim/summary.h"

namespace headgate::sim {

// "9,999 requests in 3 d 11 h, from 2015-05-17 10:05:00 UTC to 2015-05-20 21:05:59 UTC; 1 line
// skipped", with a final newline.
[[nodiscard]] std::string log_headline(const Summary& summary);

// What the policies would have done with the requests.
[[nodiscard]] std::string log_summary_text(const Summary& summary);

}  // namespace headgate::sim
