#include "headgate/view/partition_path.h"

#include "headgate/policy/match/decode.h"

namespace headgate::view {
namespace {

std::string decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) out.push_back(policy::take_percent_decoded(text));
  return out;
}

}  // namespace

Result<PartitionPath, std::string> PartitionPath::read(std::string_view path,
                                                       std::string_view head) {
  const std::string_view rest = path.substr(head.size());
  const std::size_t slash = rest.find('/');
  if (slash == 0 || slash == rest.npos) {
    return Failure<std::string>(
        "expected " + std::string(head) +
        "POLICY/KEY, percent-encoded; a policy with key: [] has an empty KEY");
  }
  return PartitionPath{decoded(rest.substr(0, slash)), decoded(rest.substr(slash + 1))};
}

}  // namespace headgate::view
