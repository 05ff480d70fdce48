// Reads /v1/top of a server for `headgate top`.
#pragma once

#include <cstddef>
#include <string>

#include "headgate/base/result.h"
#include "headgate/cli/http/server_client.h"
#include "headgate/cli/top/reading.h"

namespace headgate::cli {

// Not thread-safe.
class TopSource {
 public:
  // `length` is the number of partitions per list. The rest is as for ServerClient; if `leave`
  // returns true, read() fails. Throws std::bad_alloc.
  TopSource(const std::string& url, const std::string& token, std::size_t length,
            ServerClient::Leave leave);

  // Errors: a sentence for people.
  [[nodiscard]] Result<TopReading, std::string> read();

 private:
  ServerClient server_;
  std::string path_;
};

}  // namespace headgate::cli
