// Access logs of one JSON object a line, such as nginx writes with `log_format ... escape=json`,
// and Caddy by default.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headgate/base/json_scanner.h"
#include "headgate/base/result.h"
#include "headgate/base/text_map.h"
#include "headgate/sim/log/line_reader.h"
#include "headgate/sim/log/time.h"

namespace headgate::sim {

// Which member of a JSON object has which part of a request: the usual names, or those that were
// set.
class FieldNames {
 public:
  FieldNames();

  // Sets a name: "time=ts" reads the time from the member `ts` alone, "header:x-plan=plan" a header
  // field from `plan`, "address=request.remote_ip" the address from a member of an object. The
  // error says what was expected.
  [[nodiscard]] Result<void, std::string> set(std::string_view assignment);

  // The members that may have `what` ("time", "header:x-plan"), the preferred one first.
  [[nodiscard]] std::vector<std::string> of(const std::string& what) const;

  // "time address request ...": what can be set besides header:NAME and response-header:NAME.
  [[nodiscard]] std::string known() const;

 private:
  std::map<std::string, std::vector<std::string>> names_;
};

class JsonReader final : public LineReader {
 public:
  JsonReader(const FieldNames& names, std::span<const WantedHeader> wanted);

  [[nodiscard]] std::string_view read(std::string_view line, LogEntry& entry) override;

 private:
  // What a member has: one of these, or a header field (numbers from `headers` on).
  enum What : std::uint8_t {
    time,
    address,
    request,
    method,
    target,
    query,
    host,
    status,
    bytes,
    request_bytes,
    duration,
    headers,
  };
  struct Role {
    std::size_t what;
    std::size_t rank;  // if several members have the same part, the lowest rank is used
  };
  struct Found {
    std::string_view text;
    std::size_t rank;
  };

  // Deeper objects are not read: Caddy's logs have two levels.
  static constexpr unsigned depth_max = 4;

  bool read_members(std::string_view line);
  bool read_object(JsonScanner& in, unsigned depth);
  bool read_value(JsonScanner& in, unsigned depth);
  bool read_list(JsonScanner& in);
  void keep(std::string_view value);
  [[nodiscard]] Text found(std::size_t what) const noexcept;
  std::string_view read_request(LogEntry& entry) const;
  std::string_view read_numbers(LogEntry& entry) const;

  TextMap<std::vector<Role>> roles_;
  std::size_t longest_ = 0;   // of the names in roles_
  std::vector<Found> found_;  // by what
  std::string path_;          // of the member that is read
  std::string texts_;         // strings without their escapes
  std::string lists_;         // lists of texts, each as one text
  ClfTime clf_time_;
};

}  // namespace headgate::sim
