// A response of a server's /v1/policies, as far as `headgate top` needs it.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace headgate::cli {

struct PolicyList {
  std::set<std::string> names;   // printable ASCII
  std::set<std::string> global;  // the names of those with one partition for all clients

  // Reads the body of a response. A text of another form gives an empty list.
  [[nodiscard]] static PolicyList parse(std::string_view json);
};

}  // namespace headgate::cli
