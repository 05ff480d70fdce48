// The end of a path like /v1/state/POLICY/KEY.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::view {

struct PartitionPath {
  std::string policy;
  std::string key;  // may be empty, for the only partition of a policy without a key

  // Reads what follows `head`, with which the path begins. Policy and key are percent-encoded; the
  // key, which is the rest, may also have a '/' as it is. The error is a sentence.
  [[nodiscard]] static Result<PartitionPath, std::string> read(std::string_view path,
                                                               std::string_view head);
};

}  // namespace headgate::view
