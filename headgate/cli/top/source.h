// Reads /v1/top of a server for `headgate top`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/cli/http/server_client.h"
#include "headgate/cli/top/reading.h"

namespace headgate::cli {

// Which partitions the lists have.
struct TopSelection {
  std::size_t length = 20;            // the most per list
  std::vector<std::string> policies;  // of these policies; empty: of all
};

// Not thread-safe.
class TopSource {
 public:
  // The rest is as for ServerClient; if `leave` returns true, read() fails. Throws std::bad_alloc.
  TopSource(const std::string& url, const std::string& token, TopSelection selection,
            ServerClient::Leave leave);

  // Errors: a sentence for people.
  [[nodiscard]] Result<TopReading, std::string> read();

  // Returns what is wrong if the server has none of the policies of one name that was selected, or
  // "".
  [[nodiscard]] std::string complaint();

 private:
  [[nodiscard]] Result<std::string_view, std::string> get(const std::string& path);
  void select(std::vector<TopReading::Row>& rows) const;
  void name_everyone(TopReading& reading);

  ServerClient server_;
  TopSelection selection_;
  std::string path_;
};

}  // namespace headgate::cli
