#include "headgate/field/problem.h"

#include "headgate/base/json_text.h"

namespace headgate::field {
namespace {

struct Words {
  std::string_view type;
  std::string_view title;
};

Words words(Problem problem) noexcept {
  switch (problem) {
    case Problem::quota_exceeded:
      return {"quota-exceeded", "Request cannot be satisfied as assigned quota has been exceeded"};
    case Problem::temporary_reduced_capacity:
      return {"temporary-reduced-capacity",
              "Request cannot be satisfied due to temporary server capacity constraints"};
    case Problem::abnormal_usage_detected:
      return {"abnormal-usage-detected",
              "Request not satisfied due to detection of abnormal request pattern"};
  }
  return {};
}

}  // namespace

bool write_problem(Writer& out, Problem problem, unsigned status,
                   std::span<const std::string_view> violated_policies) noexcept {
  const Writer::Mark before = out.mark();
  const auto [type, title] = words(problem);
  out.put("{\"type\":\"https://iana.org/assignments/http-problem-types#");
  out.put(type);
  out.put("\",\"title\":\"");
  out.put(title);
  out.put("\",\"status\":");
  out.put_decimal(status);
  out.put(",\"violated-policies\":[");
  for (std::size_t i = 0; i < violated_policies.size(); ++i) {
    if (i > 0) out.put(',');
    write_json_bytes(out, violated_policies[i]);
  }
  out.put("]}");
  if (!out.overflow()) return true;
  out.rewind(before);
  return false;
}

}  // namespace headgate::field
