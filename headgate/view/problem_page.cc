#include "headgate/view/problem_page.h"

#include "headgate/base/json_members.h"
#include "headgate/base/json_text.h"
#include "headgate/field/problem.h"

namespace headgate::view {
namespace {

std::string_view title_of(unsigned status) noexcept {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 422:
      return "Unprocessable Entity";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

void append_problem(std::string& out, unsigned status, std::string_view title,
                    std::string_view detail, std::optional<std::size_t> offset) {
  out.append(R"({"type":"about:blank","title":)");
  append_json(out, title);
  append_member(out, "status", status);
  append_member(out, "detail", detail);
  if (offset) append_member(out, "offset", *offset);
  out.append("}\n");
}

Page problem_page(unsigned status, std::string_view detail, std::optional<std::size_t> offset) {
  Page page{field::problem_media_type, {}, status};
  append_problem(page.body, status, title_of(status), detail, offset);
  return page;
}

}  // namespace headgate::view
