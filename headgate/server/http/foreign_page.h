// Recognises requests that a web page of another site makes a browser send.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/server/http/request.h"

namespace headgate::server {

// A server on a loopback address without a token trusts all programs of its machine. A browser is
// one of them, and sends what any page wants: it only keeps the answer from the page, unless the
// page's name was made to point to this machine (DNS rebinding). Pages cannot send a token, since
// they do not know it, so these functions are for servers without one.

// Returns why the request may come from such a page, in words; std::nullopt if it does not.
[[nodiscard]] std::optional<std::string_view> fault_of_foreign_page(const HttpRequest& request);

// The same for a proxy's query about the request of its client, whose Host, Origin and
// Sec-Fetch-Site it may contain. `port` is the one that this server listens on.
[[nodiscard]] std::optional<std::string_view> fault_of_foreign_query(const HttpRequest& request,
                                                                     unsigned port);

}  // namespace headgate::server
