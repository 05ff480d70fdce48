// The requests of access logs, sorted by time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/sim/log/complaints.h"
#include "headgate/sim/log/line_reader.h"
#include "headgate/sim/log/lines.h"
#include "headgate/sim/log/logged_request.h"
#include "headgate/sim/log/sorter.h"

namespace headgate::sim {

// Reads logs one after the other, then replays their requests any number of times. Lines of equal
// times keep the order in which they were read. If the log has durations, a request begins that
// much before its line was written. Not thread-safe.
class Traffic {
 public:
  // Keeps the fields in `fields_used` of each request; `memory` as Sorter takes it.
  explicit Traffic(const policy::FieldsUsed& fields_used,
                   std::size_t memory = Sorter::memory_usual);

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }

  // Gets the number of a skipped line, counted from 0 over all logs, and what is wrong with it.
  using OnSkip = std::function<Result<void, std::string>(std::uint64_t, std::string_view)>;
  // Called every few thousand lines.
  using OnProgress = std::function<void(const Source&)>;

  // Reads a log to its end; `name` is its name in complaints. The error says why reading stopped
  // before the end.
  [[nodiscard]] Result<void, std::string> read(Lines& lines, LineReader& reader,
                                               const std::string& name, const Complain& complain,
                                               const OnSkip& on_skip, const OnProgress& progress);

  // Call it once, after all logs and before the first replay.
  void finish() { sorter_.finish(); }

  // Calls act(Instant, const LoggedRequest&) for every request.
  template <class Act>
  [[nodiscard]] Result<void, std::string> replay(const Act& act) const {
    Sorter::Pass pass(sorter_);
    LoggedRequest record(layout_);
    std::int64_t at = 0;
    for (std::string_view bytes; pass.next(at, bytes);) {
      record.read(bytes);
      act(Instant{at}, static_cast<const LoggedRequest&>(record));
    }
    if (!pass.error().empty()) return Failure<std::string>(pass.error());
    return {};
  }

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t requests() const noexcept { return sorter_.size(); }
  [[nodiscard]] std::uint64_t skipped() const noexcept { return lines_ - sorter_.size(); }
  // When the first and the last request began; 0 if there are no requests.
  [[nodiscard]] Instant first() const noexcept { return {first_}; }
  [[nodiscard]] Instant last() const noexcept { return {last_}; }

  // What policies use but no line has: "the request header \"x-plan\"", "the host".
  [[nodiscard]] std::vector<std::string> missing_fields() const;
  [[nodiscard]] bool has_durations() const noexcept { return has_durations_; }
  [[nodiscard]] bool has_request_bytes() const noexcept { return has_request_bytes_; }

 private:
  void notice(const LogEntry& entry) noexcept;

  Layout layout_;
  Sorter sorter_;
  RecordWriter writer_;
  std::uint64_t lines_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::vector<bool> found_;  // of layout_.headers
  bool has_hosts_ = false;
  bool has_durations_ = false;
  bool has_request_bytes_ = false;
};

}  // namespace headgate::sim
