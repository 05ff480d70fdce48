// The stored form of the requests of an access log: only what policies use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/fields_used.h"
#include "headgate/policy/request.h"
#include "headgate/sim/log/entry.h"
#include "headgate/sim/log/line_reader.h"

namespace headgate::sim {

// What is stored besides client, status, bytes and duration.
struct Layout {
  // Stores what `all` has.
  explicit Layout(const policy::FieldsUsed& all) : fields_used(all), headers(wanted_headers(all)) {}

  policy::FieldsUsed fields_used;
  std::vector<WantedHeader> headers;
};

// Writes log entries as bytes. Not thread-safe.
class RecordWriter {
 public:
  explicit RecordWriter(const Layout& layout) : layout_(layout) {}

  // `line` is the number that LoggedRequest::line() returns. The result is valid until the next
  // call.
  [[nodiscard]] std::string_view write(const LogEntry& entry, std::uint64_t line);

 private:
  const Layout& layout_;
  std::string bytes_;
};

// The request and the response of one stored entry, as views of its bytes. Not thread-safe.
class LoggedRequest {
 public:
  explicit LoggedRequest(const Layout& layout);
  LoggedRequest(const LoggedRequest&) = delete;
  LoggedRequest& operator=(const LoggedRequest&) = delete;

  // `bytes` were written by a RecordWriter of the same layout, and outlive the views.
  void read(std::string_view bytes) noexcept;

  [[nodiscard]] const policy::Request& request() const noexcept { return request_; }
  [[nodiscard]] const policy::Response& response() const noexcept { return response_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }
  [[nodiscard]] std::int64_t took() const noexcept { return took_; }  // [ns]

 private:
  class Values final : public policy::Headers {
   public:
    Values(const LoggedRequest& record, bool of_response) noexcept
        : record_(record), of_response_(of_response) {}
    [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                       std::size_t nth) const noexcept override;

   private:
    const LoggedRequest& record_;
    bool of_response_;
  };

  const Layout& layout_;
  std::vector<Text> values_;  // of layout_.headers
  Values request_headers_;
  Values response_headers_;
  policy::Request request_;
  policy::Response response_;
  std::uint64_t line_ = 0;
  std::int64_t took_ = 0;
};

}  // namespace headgate::sim
