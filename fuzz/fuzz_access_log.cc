// Any bytes are read as lines of an access log or refused with a reason. What is read is in range,
// and is the same after it was written as a record and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "headgate/sim/log/format.h"
#include "headgate/sim/log/logged_request.h"
#include "headgate/sim/log/time.h"

namespace {

using namespace headgate::sim;

void require(bool holds) {
  if (!holds) std::abort();
}

headgate::policy::FieldsUsed all_fields() {
  headgate::policy::FieldsUsed fields_used;
  fields_used.method = fields_used.host = fields_used.path = fields_used.query = true;
  fields_used.request_headers = {"cookie", "referer", "user-agent", "x-plan"};
  fields_used.response_headers = {"x-cost"};
  return fields_used;
}

auto all_readers(const FieldNames& names, const Layout& layout) {
  std::vector<decltype(make_reader(LogFormat::json, names, layout.headers))> readers;
  for (const LogFormat format : {LogFormat::combined, LogFormat::common, LogFormat::envoy,
                                 LogFormat::haproxy, LogFormat::json}) {
    readers.push_back(make_reader(format, names, layout.headers));
  }
  return readers;
}

void check(const LogEntry& entry, const Layout& layout, RecordWriter& writer,
           LoggedRequest& record) {
  require(entry.at >= 0 && entry.at / 1'000'000'000 < log_seconds_max);
  require(entry.status <= 999 && entry.took >= 0);
  record.read(writer.write(entry, 7));
  require(record.line() == 7 && record.took() == entry.took);
  require(record.request().peer == entry.peer && record.request().method == entry.method);
  require(record.response().status == entry.status);
  require(record.response().body_bytes == entry.response_bytes);
  require(record.request().body_bytes == entry.request_bytes);
  for (std::size_t i = 0; i < layout.headers.size(); ++i) {
    const WantedHeader& header = layout.headers[i];
    const auto* headers = header.of_response ? record.response().headers : record.request().headers;
    require(headers->line(header.name, 0) == entry.headers[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const FieldNames names;
  static const Layout layout(all_fields());
  static const auto readers = all_readers(names, layout);
  static RecordWriter writer(layout);
  static LoggedRequest record(layout);
  static_cast<void>(detect(input, names));
  for (const auto& reader : readers) {
    LogEntry entry;
    for (std::string_view rest = input; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (reader->read(line, entry).empty()) check(entry, layout, writer, record);
    }
  }
  return 0;
}
