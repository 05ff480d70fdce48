#include "headgate/server/http/routes.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "headgate/base/ascii.h"
#include "headgate/field/problem.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/server/content.h"
#include "headgate/server/http/asset.h"
#include "headgate/server/http/auth.h"
#include "headgate/server/http/decide.h"
#include "headgate/server/http/metrics.h"
#include "headgate/server/http/policies_page.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/http/top.h"
#include "headgate/server/same_secret.h"

namespace headgate::server {
namespace {

enum class Methods : std::uint8_t { any, get, post };  // get: and HEAD

struct Route {
  std::string_view path;
  Methods methods;
  void (*answer)(Exchange&);
  bool open = false;  // needs no token
};

void send(Exchange& exchange, const Content& page) {
  exchange.reply.begin(page.status);
  exchange.reply.lines(page.fields);
  exchange.reply.end(page.type, page.body);
}

template <ContentMaker make>
void page(Exchange& exchange) {
  WorkerContext& worker = exchange.door.worker;
  send(exchange, make(worker.engine(), worker, exchange.request.query()));
}

void answer_json(Exchange& exchange) {
  const FormHandler make = exchange.door.options.envoy_json;
  if (make == nullptr) return answer_problem(exchange, 404, "this server has no Envoy door");
  WorkerContext& worker = exchange.door.worker;
  send(exchange, make(worker.engine(), worker, exchange.request.query(), exchange.request.body()));
}

Content healthz(Engine&, WorkerContext&, std::string_view) { return {"text/plain", "ok\n"}; }

constexpr Route routes[] = {
    {"/auth", Methods::any, answer_auth},
    {"/v1/decide", Methods::post, answer_decide},
    {"/json", Methods::post, answer_json},
    {"/v1/policies", Methods::get, page<policies_page>},
    {"/v1/top", Methods::get, page<top_page>},
    {"/metrics", Methods::get, page<metrics_page>},
    {"/healthz", Methods::get, page<healthz>, true},
};

// Needs no token: the dashboard's files contain no data. Its script requests the data with the
// token.
constexpr Route asset_route = {"/", Methods::get, answer_asset, true};

const Route* route_of(std::string_view path) noexcept {
  const auto* found = std::find_if(std::begin(routes), std::end(routes),
                                   [&](const Route& route) { return route.path == path; });
  if (found != std::end(routes)) return found;
  return find_asset(path) == nullptr ? nullptr : &asset_route;
}

bool allows(Methods methods, const HttpRequest& request) noexcept {
  switch (methods) {
    case Methods::any:
      return true;
    case Methods::get:
      return request.method() == "GET" || request.is_head();
    case Methods::post:
      return request.method() == "POST";
  }
  return false;
}

// The token is in Authorization (RFC 6750, section 2.1), or in a field of our own, so that a proxy
// can forward its client's Authorization.
bool shows_token(const HttpRequest& request, std::string_view token) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (const auto own = request.first("x-headgate-token")) return same_secret(*own, token);
  const std::string_view given = request.first("authorization").value_or("");
  return equal_ignoring_case(given.substr(0, scheme.size()), scheme) &&
         same_secret(trimmed(given.substr(scheme.size())), token);
}

void refuse_path(Exchange& exchange) {
  std::array<std::string_view, std::size(routes)> known;
  std::transform(std::begin(routes), std::end(routes), known.begin(),
                 [](const Route& route) { return route.path; });
  const std::string_view path = exchange.request.path();
  std::string detail = "nothing is at " + policy::in_quotes(path);
  if (const auto meant = policy::nearest(path, known)) {
    detail += "; did you mean " + policy::in_quotes(*meant) + '?';
  }
  answer_problem(exchange, 404, detail);
}

void refuse_caller(Exchange& exchange) {
  exchange.reply.begin(401);
  exchange.reply.field("WWW-Authenticate", "Bearer realm=\"headgate\"");
  exchange.reply.end(
      field::problem_media_type,
      problem_text(exchange.door, 401,
                   "expected Authorization: Bearer TOKEN, with this server's token"));
}

void refuse_method(Exchange& exchange, Methods methods) {
  const std::string_view allowed = methods == Methods::get ? "GET, HEAD" : "POST";
  exchange.reply.begin(405);
  exchange.reply.field("Allow", allowed);
  exchange.reply.end(
      field::problem_media_type,
      problem_text(exchange.door, 405, "expected " + std::string(allowed) + " of this path"));
}

}  // namespace

bool refuse(Exchange& exchange) {
  const Route* route = route_of(exchange.request.path());
  const std::string& token = exchange.door.options.token;
  if (!token.empty() && (route == nullptr || !route->open) &&
      !shows_token(exchange.request, token)) {
    refuse_caller(exchange);
    return true;
  }
  if (route == nullptr) {
    refuse_path(exchange);
    return true;
  }
  if (!allows(route->methods, exchange.request)) {
    refuse_method(exchange, route->methods);
    return true;
  }
  return false;
}

void answer(Exchange& exchange) { route_of(exchange.request.path())->answer(exchange); }

}  // namespace headgate::server
