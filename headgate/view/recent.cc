#include "headgate/view/recent.h"

#include <iterator>
#include <utility>

namespace headgate::view {
namespace {

void append(std::vector<Partition>& to, std::vector<Partition>& from) {
  to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
}

}  // namespace

void Recent::add(Recent&& part) {
  requests += part.requests;
  denied += part.denied;
  shadow_denied += part.shadow_denied;
  outage += part.outage;
  append(busiest, part.busiest);
  append(most_denied, part.most_denied);
}

}  // namespace headgate::view
