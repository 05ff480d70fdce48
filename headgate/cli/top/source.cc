#include "headgate/cli/top/source.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "headgate/cli/printable.h"
#include "headgate/cli/top/policy_list.h"

namespace headgate::cli {
namespace {

// The longest list that a server gives: those of single policies are selected from it.
constexpr std::size_t longest = 100;
// How servers list what Redis clients ask for with CL.THROTTLE; it is no policy of the file.
constexpr std::string_view throttle = "throttle";

}  // namespace

TopSource::TopSource(const std::string& url, const std::string& token, TopSelection selection,
                     ServerClient::Leave leave)
    : server_(url, token, std::move(leave)),
      selection_(std::move(selection)),
      path_("/v1/top?n=" +
            std::to_string(selection_.policies.empty() ? selection_.length : longest)) {
  for (std::string& policy : selection_.policies) policy = printable(policy);
}

Result<std::string_view, std::string> TopSource::get(const std::string& path) {
  const auto fail = [&](const std::string& why) {
    return Failure<std::string>(server_.fault(why));
  };
  const auto answer = server_.request("GET", path);
  if (!answer) return Failure<std::string>(answer.error());
  if (answer->status == 401) {
    return fail("the server wants its token; expected --token-file FILE with it");
  }
  if (answer->status != 200) {
    return fail("answered with status " + std::to_string(answer->status) + expected_server);
  }
  return answer->body;
}

Result<TopReading, std::string> TopSource::read() {
  const auto body = get(path_);
  if (!body) return Failure<std::string>(body.error());
  auto reading = TopReading::parse(*body);
  if (!reading) {
    return Failure<std::string>(server_.fault(reading.error() + expected_server));
  }
  reading->policies = selection_.policies;
  select(reading->busiest);
  select(reading->most_denied);
  name_everyone(*reading);
  return reading;
}

void TopSource::select(std::vector<TopReading::Row>& rows) const {
  const auto& wanted = selection_.policies;
  std::erase_if(rows, [&](const TopReading::Row& row) {
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), row.policy) == wanted.end();
  });
  if (rows.size() > selection_.length) rows.resize(selection_.length);
}

// A key is empty if a policy has one partition for all, or if a request does not have what its key
// is made from. Only the policies tell which; they are read if there is such a row.
void TopSource::name_everyone(TopReading& reading) {
  const std::array lists = {&reading.busiest, &reading.most_denied};
  const auto has_empty = [](const std::vector<TopReading::Row>* rows) {
    return std::any_of(rows->begin(), rows->end(),
                       [](const TopReading::Row& row) { return row.key.empty(); });
  };
  if (std::none_of(lists.begin(), lists.end(), has_empty)) return;
  const auto body = get("/v1/policies");
  if (!body) return;
  const PolicyList policies = PolicyList::parse(*body);
  for (std::vector<TopReading::Row>* rows : lists) {
    for (TopReading::Row& row : *rows) {
      row.everyone = row.key.empty() && policies.global.contains(row.policy);
    }
  }
}

std::string TopSource::complaint() {
  if (selection_.policies.empty()) return "";
  const auto body = get("/v1/policies");
  if (!body) return body.error();
  const PolicyList policies = PolicyList::parse(*body);
  for (const std::string& policy : selection_.policies) {
    if (policy != throttle && !policies.names.contains(policy)) {
      return server_.fault("has no policy '" + policy + "'; expected --policy with one of its " +
                           std::to_string(policies.names.size()));
    }
  }
  return "";
}

}  // namespace headgate::cli
