// The parts of requests and responses that the policies of a file read. A caller that stores
// requests for later (the simulator) needs to store only these.
#pragma once

#include <set>
#include <string>

namespace headgate::policy {

struct FieldsUsed {
  bool method = false;
  bool host = false;
  bool path = false;
  bool query = false;
  std::set<std::string> request_headers;  // names in lower case
  std::set<std::string> response_headers;
  std::set<std::string> response_members;  // of its JSON: names with dots between them

  // Adds the parts that `other` has.
  void add(const FieldsUsed& other) {
    method |= other.method;
    host |= other.host;
    path |= other.path;
    query |= other.query;
    request_headers.insert(other.request_headers.begin(), other.request_headers.end());
    response_headers.insert(other.response_headers.begin(), other.response_headers.end());
    response_members.insert(other.response_members.begin(), other.response_members.end());
  }
};

}  // namespace headgate::policy
