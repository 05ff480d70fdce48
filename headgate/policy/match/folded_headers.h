// The headers of a request as the patterns of `match` read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/request.h"

namespace headgate::policy {

// Folds each header once for a request, when the first pattern asks for it: there can be hundreds
// of patterns, and the client chooses how long its lines are. Not thread-safe.
class FoldedHeaders {
 public:
  // Ends the request. Keeps little memory: each worker, and each decision that waits, has one.
  void clear() noexcept;

  // Whether a value of the header holds. Its values are its lines (append_line()), and if there are
  // several, also all of them joined with ", ", as many upstreams read them. `name` lives until
  // clear(). Throws std::bad_alloc.
  template <class Holds>
  [[nodiscard]] bool any(const Headers& headers, std::string_view name, const Holds& holds) {
    const Header header = find(headers, name);
    for (std::size_t i = header.begin; i < header.end; ++i) {
      const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
      if (holds(std::string_view(text_).substr(begin, ends_[i] - begin))) return true;
    }
    return false;
  }

 private:
  struct Header {
    std::string_view name;
    std::size_t begin;  // of its values' indexes in ends_
    std::size_t end;
  };

  [[nodiscard]] Header find(const Headers& headers, std::string_view name);
  void read(const Headers& headers, std::string_view name);

  std::vector<Header> headers_;
  std::string text_;               // all values, one behind the other
  std::vector<std::size_t> ends_;  // of the values in text_
};

}  // namespace headgate::policy
