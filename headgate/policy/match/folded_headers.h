// The headers of a request as the patterns of `match` read them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/request.h"

namespace headgate::policy {

// Folds each header once for a request, when the first pattern asks for it: there can be hundreds
// of patterns, and the client chooses how long its lines are. Not thread-safe.
class FoldedHeaders {
 public:
  // Begins another request. The memory is used again.
  void clear() noexcept { known_ = 0; }

  // The lines of a header, in their order (fold_line()), and behind several lines all of them
  // joined with ", ", as many upstreams read them. Valid until clear(). `name` lives as long.
  // Throws std::bad_alloc.
  [[nodiscard]] std::span<const std::string> values(const Headers& headers, std::string_view name);

 private:
  struct Header {
    std::string_view name;
    std::vector<std::string> values;
    std::size_t count = 0;  // of `values`; those behind are of another request

    // Returns another value, which has any text.
    std::string& add();
  };

  static void read(const Headers& headers, Header& header);

  std::vector<Header> headers_;
  std::size_t known_ = 0;  // of headers_; those behind are of another request
};

}  // namespace headgate::policy
