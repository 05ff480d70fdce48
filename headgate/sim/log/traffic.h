// The requests of access logs, in the order of time.
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

// Reads logs one after the other, then gives out their requests, as often as is asked for. Lines of
// equal times stay in the order in which they were read. A request begins its duration before its
// line was written, if the log tells one. Not thread-safe.
class Traffic {
 public:
  // Keeps what any of `fields_used` is about; `memory` as Sorter takes it.
  explicit Traffic(const policy::FieldsUsed& fields_used,
                   std::size_t memory = Sorter::memory_usual);

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }

  // Takes a skipped line by its number from 0, over all logs, and what was wrong with it.
  using OnSkip = std::function<Result<void, std::string>(std::uint64_t, std::string_view)>;
  // Is told every few thousand lines.
  using OnProgress = std::function<void(const Source&)>;

  // Reads a log to its end; `name` stands for it in complaints. The error says why that ended
  // midway.
  [[nodiscard]] Result<void, std::string> read(Lines& lines, LineReader& reader,
                                               const std::string& name, const Complain& complain,
                                               const OnSkip& on_skip, const OnProgress& progress);

  // To be called once, after all logs and before any pass.
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
  // When the first and the last request began; of no requests both are 0.
  [[nodiscard]] Instant first() const noexcept { return {first_}; }
  [[nodiscard]] Instant last() const noexcept { return {last_}; }

  // What policies look at and no line told: "the request header \"x-plan\"", "the host".
  [[nodiscard]] std::vector<std::string> never_told() const;
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
  std::vector<bool> told_;  // of layout_.headers
  bool has_hosts_ = false;
  bool has_durations_ = false;
  bool has_request_bytes_ = false;
};

}  // namespace headgate::sim
