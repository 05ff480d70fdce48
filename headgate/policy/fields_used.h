// What the policies of a file look at, so that who keeps requests for later need not keep the rest.
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

  // Adds what `other` has.
  void add(const FieldsUsed& other) {
    method |= other.method;
    host |= other.host;
    path |= other.path;
    query |= other.query;
    request_headers.insert(other.request_headers.begin(), other.request_headers.end());
    response_headers.insert(other.response_headers.begin(), other.response_headers.end());
  }
};

}  // namespace headgate::policy
