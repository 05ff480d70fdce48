// Rates of the last minute or so, read from one or several RecentStats.
#pragma once

#include <string>
#include <vector>

namespace headgate::view {

// One policy's partition.
struct Partition {
  std::string policy;
  std::string key;       // for people: printable ASCII
  double at_least = 0;   // requests, or denials [1/s]
  double at_most = 0;    // the same
  double also = 0;       // busiest: admitted units; most_denied: denials in shadow mode [1/s]
  std::string client{};  // stands for a key that is not shown, the same under all policies
};

struct Recent {
  double requests = 0;  // to which a policy applied [1/s]
  double denied = 0;
  double shadow_denied = 0;
  double outage = 0;                   // decided without the store that machines share
  std::vector<Partition> busiest;      // in no order
  std::vector<Partition> most_denied;  // in no order

  // Adds the rates and appends the lists: a partition may then be in a list several times. Throws
  // std::bad_alloc.
  void add(Recent&& part);
};

}  // namespace headgate::view
