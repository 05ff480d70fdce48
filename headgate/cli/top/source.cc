#include "headgate/cli/top/source.h"

#include <utility>

namespace headgate::cli {

TopSource::TopSource(const std::string& url, const std::string& token, std::size_t length,
                     ServerClient::Leave leave)
    : server_(url, token, std::move(leave)), path_("/v1/top?n=" + std::to_string(length)) {}

Result<TopReading, std::string> TopSource::read() {
  const auto fail = [&](const std::string& why) {
    return Failure<std::string>(server_.fault(why));
  };
  const auto answer = server_.request("GET", path_);
  if (!answer) return Failure<std::string>(answer.error());
  if (answer->status == 401) {
    return fail("the server wants its token; expected --token-file FILE with it");
  }
  if (answer->status != 200) {
    return fail("answered with status " + std::to_string(answer->status) +
                "; expected the --http address of a headgate serve");
  }
  auto reading = TopReading::parse(answer->body);
  if (!reading) {
    return fail(reading.error() + "; expected the --http address of a headgate serve");
  }
  return reading;
}

}  // namespace headgate::cli
