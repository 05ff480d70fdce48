#include "headgate/sim/line_reader.h"

namespace headgate::sim {

std::vector<WantedHeader> wanted_headers(const policy::Looks& looks) {
  std::vector<WantedHeader> wanted;
  for (const std::string& name : looks.request_headers) wanted.push_back({name, false});
  for (const std::string& name : looks.response_headers) wanted.push_back({name, true});
  if (wanted.size() > log_headers_max) wanted.resize(log_headers_max);
  return wanted;
}

}  // namespace headgate::sim
