#include "headgate/server/http/problem.h"

#include "headgate/field/problem.h"
#include "headgate/view/problem_page.h"

namespace headgate::server {

std::string_view problem_text(HttpDoorContext& door, unsigned status, std::string_view detail,
                              std::optional<std::size_t> offset) {
  std::string& out = door.text;
  out.clear();
  view::append_problem(out, status, reason_phrase(status), detail, offset);
  return out;
}

void answer_problem(Exchange& exchange, unsigned status, std::string_view detail,
                    std::optional<std::size_t> offset) {
  exchange.reply.begin(status);
  exchange.reply.end(field::problem_media_type,
                     problem_text(exchange.door, status, detail, offset));
}

void answer_fault(Exchange& exchange, const DecideFault& fault) {
  answer_problem(exchange, fault.status, "byte " + std::to_string(fault.at) + ": " + fault.what,
                 fault.at);
}

}  // namespace headgate::server
