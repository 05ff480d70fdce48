// One request of the HTTP door, in the buffer that it was received into.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/ascii.h"
#include "headgate/policy/request.h"

namespace headgate::server {

// Filled by HttpParser. Stores positions instead of views, so that the buffer may move.
class HttpRequest final : public policy::Headers {
 public:
  static constexpr std::size_t fields_max = 100;  // as Apache's default LimitRequestFields

  [[nodiscard]] std::string_view method() const noexcept { return at(method_); }
  // Path and query of the target, as received.
  [[nodiscard]] std::string_view path() const noexcept { return at(path_); }
  [[nodiscard]] std::string_view query() const noexcept { return at(query_); }
  [[nodiscard]] bool is_http_1_0() const noexcept { return version_ == 10; }
  [[nodiscard]] bool is_head() const noexcept { return method() == "HEAD"; }
  [[nodiscard]] std::string_view body() const noexcept {
    return chunked_body_.empty() ? at(body_) : std::string_view(chunked_body_);
  }

  // policy::Headers
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    for (std::size_t i = 0; i < count_; ++i) {
      if (!equal_ignoring_case(at(fields_[i].name), name)) continue;
      if (nth-- == 0) return at(fields_[i].value);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string_view> first(std::string_view name) const noexcept {
    return line(name, 0);
  }

 private:
  friend class HttpParser;

  struct Extent {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  struct Field {
    Extent name;
    Extent value;
  };

  [[nodiscard]] std::string_view at(Extent extent) const noexcept {
    return bytes_.substr(extent.begin, extent.size);
  }

  std::string_view bytes_;  // the buffer, from the beginning of the request
  Extent method_;
  Extent path_;
  Extent query_;
  Extent body_;               // empty if the body came in chunks
  std::string chunked_body_;  // the content of the chunks
  int version_ = 11;
  std::size_t count_ = 0;
  std::array<Field, fields_max> fields_;
};

}  // namespace headgate::server
