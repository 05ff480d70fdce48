#include "headgate/sim/log/traffic.h"

#include <algorithm>

namespace headgate::sim {
namespace {

constexpr std::uint64_t lines_between_progress = 1 << 14;

const std::string too_long = "longer than " + std::to_string(line_bytes_max) + " bytes";

}  // namespace

Traffic::Traffic(const policy::FieldsUsed& fields_used, std::size_t memory)
    : layout_(fields_used), sorter_(memory), writer_(layout_), found_(layout_.headers.size()) {}

Result<void, std::string> Traffic::read(Lines& lines, LineReader& reader, const std::string& name,
                                        const Complain& complain, const OnSkip& on_skip,
                                        const OnProgress& progress) {
  Complaints complaints(name, complain);
  LogEntry entry;
  for (Line line; lines.next(line);) {
    const std::uint64_t number = lines_++;
    if (number % lines_between_progress == 0) progress(lines.source());
    const std::string_view wrong = line.cut ? too_long : reader.read(line.text, entry);
    if (!wrong.empty()) {
      complaints.add(line.number, wrong);
      if (auto went_on = on_skip(number, wrong); !went_on) return went_on;
      continue;
    }
    notice(entry);
    const std::int64_t began = entry.at - entry.took;
    if (auto added = sorter_.add(began, writer_.write(entry, number)); !added) return added;
    first_ = requests() == 1 ? began : std::min(first_, began);
    last_ = requests() == 1 ? began : std::max(last_, began);
  }
  if (!lines.error().empty()) return Failure<std::string>(lines.error());
  return {};
}

void Traffic::notice(const LogEntry& entry) noexcept {
  has_hosts_ |= !entry.host.empty();
  has_durations_ |= entry.took > 0;
  has_request_bytes_ |= entry.request_bytes.has_value();
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (entry.headers[i]) found_[i] = true;
  }
}

std::vector<std::string> Traffic::missing_fields() const {
  std::vector<std::string> never;
  if (layout_.fields_used.host && !has_hosts_) never.emplace_back("the host");
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const WantedHeader& header = layout_.headers[i];
    if (!found_[i]) {
      never.push_back((header.of_response ? "the response header \"" : "the request header \"") +
                      header.name + '"');
    }
  }
  return never;
}

}  // namespace headgate::sim
