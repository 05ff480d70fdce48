// The texts of the room view as responses of the HTTP door.
#pragma once

#include <utility>

#include "headgate/server/content.h"
#include "headgate/server/http/reply.h"
#include "headgate/view/page.h"

namespace headgate::server {

[[nodiscard]] inline Content content(view::Page page) {
  return {page.type, std::move(page.body), page.status};
}

inline void write_page(HttpReply& reply, const view::Page& page) {
  reply.begin(page.status);
  reply.end(page.type, page.body);
}

}  // namespace headgate::server
