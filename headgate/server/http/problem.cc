#include "headgate/server/http/problem.h"

#include <algorithm>
#include <array>

#include "headgate/field/problem.h"
#include "headgate/view/problem_page.h"

namespace headgate::server {
namespace {

// Whether a problem of this status is that the request cannot be read. The others tell of access,
// of what is not there, and of this server.
bool is_unreadable(unsigned status) noexcept {
  constexpr std::array statuses = {400u, 413u, 415u, 417u, 422u, 431u, 501u, 505u};
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

}  // namespace

std::string_view problem_text(HttpDoorContext& door, unsigned status, std::string_view detail,
                              std::optional<std::size_t> offset) {
  std::string& out = door.text;
  out.clear();
  view::append_problem(out, status, reason_phrase(status), detail, offset);
  return out;
}

void answer_problem(Exchange& exchange, unsigned status, std::string_view detail,
                    std::optional<std::size_t> offset) {
  if (is_unreadable(status)) exchange.door.worker.stats().unreadable(DoorKind::http);
  exchange.reply.begin(status);
  exchange.reply.end(field::problem_media_type,
                     problem_text(exchange.door, status, detail, offset));
}

void answer_fault(Exchange& exchange, const DecideFault& fault) {
  answer_problem(exchange, fault.status, "byte " + std::to_string(fault.at) + ": " + fault.what,
                 fault.at);
}

}  // namespace headgate::server
