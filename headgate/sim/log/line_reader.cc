#include "headgate/sim/log/line_reader.h"

namespace headgate::sim {

std::vector<WantedHeader> wanted_headers(const policy::FieldsUsed& fields_used) {
  std::vector<WantedHeader> wanted;
  for (const std::string& name : fields_used.request_headers) wanted.push_back({name, false});
  for (const std::string& name : fields_used.response_headers) wanted.push_back({name, true});
  if (wanted.size() > log_headers_max) wanted.resize(log_headers_max);
  return wanted;
}

}  // namespace headgate::sim
