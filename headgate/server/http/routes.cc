#include "headgate/server/http/routes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "headgate/base/ascii.h"
#include "headgate/field/problem.h"
#include "headgate/net/bearer.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/server/content.h"
#include "headgate/server/http/auth.h"
#include "headgate/server/http/dashboard.h"
#include "headgate/server/http/decide.h"
#include "headgate/server/http/foreign_page.h"
#include "headgate/server/http/metrics.h"
#include "headgate/server/http/overrides.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/http/settle.h"
#include "headgate/server/http/state.h"

namespace headgate::server {
namespace {

// The bytes of JSON that are read and decided in about Turn::short_max: some 60 checks.
constexpr std::size_t short_body_max = std::size_t{8} << 10;

enum class Methods : std::uint8_t { any, get, post, put, remove };  // get: and HEAD

struct Route {
  std::string_view path;  // one that ends with '/' is the beginning of paths
  Methods methods;
  void (*answer)(Exchange&);
  Access needs;
  enum class Sender : std::uint8_t {
    program,
    sender_of_json,  // must say that it sends JSON
    proxy,           // sends its client's fields
  } sender = Sender::program;
  bool takes_long = false;  // may list all policies or overrides, or make them anew
};

void send(HttpReply& reply, const Content& page) {
  reply.begin(page.status);
  reply.lines(page.fields);
  reply.end(page.type, page.body);
}

template <ContentMaker make>
void page(Exchange& exchange) {
  WorkerContext& worker = exchange.door.worker;
  send(exchange.reply, make(worker.engine(), worker, exchange.request.query()));
}

void answer_json(Exchange& exchange) {
  const FormHandler& handler = exchange.door.options.envoy_json;
  if (handler.begin == nullptr) {
    return answer_problem(exchange, 404, "this server has no Envoy door");
  }
  WorkerContext& worker = exchange.door.worker;
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return answer_problem(exchange, 503, WorkerContext::too_many_wait);
  if (const auto page = handler.begin(worker, exchange.request.body(), *job)) {
    if (page->status == 400) worker.stats().unreadable(DoorKind::http);
    return send(exchange.reply, *page);
  }
  exchange.wait([](const HttpPending& pending, HttpDoorContext& door, HttpReply& reply) {
    send(reply, door.options.envoy_json.finish(door.worker, *pending.job));
  });
}

Content healthz(Engine&, WorkerContext&, std::string_view) { return {"text/plain", "ok\n"}; }

constexpr Route routes[] = {
    {"/auth", Methods::any, answer_auth, Access::all, Route::Sender::proxy},
    {"/v1/decide", Methods::post, answer_decide, Access::all, Route::Sender::sender_of_json},
    {"/v1/reserve", Methods::post, answer_reserve, Access::all, Route::Sender::sender_of_json},
    {"/v1/settle", Methods::post, answer_settle, Access::all, Route::Sender::sender_of_json},
    {"/json", Methods::post, answer_json, Access::all, Route::Sender::sender_of_json},
    {"/v1/state/", Methods::get, answer_state, Access::all},
    {"/v1/state/", Methods::remove, answer_reset, Access::admin},
    {"/v1/overrides", Methods::get, page<overrides_page>, Access::all, Route::Sender::program,
     true},
    {"/v1/overrides/", Methods::put, answer_set_override, Access::admin,
     Route::Sender::sender_of_json, true},
    {"/v1/overrides/", Methods::remove, answer_remove_override, Access::admin,
     Route::Sender::program, true},
    {"/v1/policies", Methods::get, page<policies_page>, Access::read, Route::Sender::program, true},
    {"/v1/top", Methods::get, page<top_page>, Access::read, Route::Sender::program, true},
    {"/metrics", Methods::get, page<metrics_page>, Access::read, Route::Sender::program, true},
    {"/healthz", Methods::get, page<healthz>, Access::none},
};

// Needs no token: the dashboard's files contain no data. Its script requests the data with the
// token.
constexpr Route asset_route = {"/", Methods::get, answer_asset, Access::none};

bool is_at(const Route& route, std::string_view path) noexcept {
  return route.path.ends_with('/') ? path.starts_with(route.path) : path == route.path;
}

bool allows(Methods methods, const HttpRequest& request) noexcept {
  switch (methods) {
    case Methods::any:
      return true;
    case Methods::get:
      return request.method() == "GET" || request.is_head();
    case Methods::post:
      return request.method() == "POST";
    case Methods::put:
      return request.method() == "PUT";
    case Methods::remove:
      return request.method() == "DELETE";
  }
  return false;
}

// Returns the route of the request's path and method; if no route has both, the first one that has
// the path; or nullptr.
const Route* route_of(const HttpRequest& request) noexcept {
  const Route* other = nullptr;
  for (const Route& route : routes) {
    if (!is_at(route, request.path())) continue;
    if (allows(route.methods, request)) return &route;
    if (other == nullptr) other = &route;
  }
  if (other != nullptr) return other;
  return is_asset(request.path()) ? &asset_route : nullptr;
}

// The token is in Authorization, or in a field of our own, so that a proxy can forward its client's
// Authorization. Returns std::nullopt if there is none.
std::optional<std::string_view> shown_token(const HttpRequest& request) noexcept {
  if (const auto own = request.first("x-headgate-token")) return own;
  return net::bearer_token(request.first("authorization").value_or(""));
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

// Answers a request without the right token. Wrong tokens are answered late, which limits guesses.
void refuse_caller(Exchange& exchange, bool token_is_wrong, Access needed) {
  HttpCaller& caller = exchange.caller;
  if (token_is_wrong) {
    const auto answer = exchange.door.wrong_tokens.count(++caller.wrong_tokens, caller.fd);
    if (!answer) {
      caller.is_cut_off = true;
      return;
    }
    caller.answers_at = answer->at;
    if (answer->is_last) exchange.reply.close();
  }
  exchange.reply.begin(401);
  exchange.reply.field("WWW-Authenticate", "Bearer realm=\"headgate\"");
  exchange.reply.end(
      field::problem_media_type,
      problem_text(exchange.door, 401,
                   needed == Access::admin
                       ? "expected Authorization: Bearer TOKEN, with this server's admin token"
                       : "expected Authorization: Bearer TOKEN, with this server's token"));
}

// Answers a request whose sender may do less than it needs.
void refuse_access(Exchange& exchange, Access access) {
  const bool has_admin = !exchange.door.credentials.now().admin_token.empty();
  answer_problem(exchange, 403,
                 access == Access::read ? "this token may only read: metrics, lists and policies"
                 : has_admin            ? "this needs the server's admin token"
                             : "this needs an admin token, which this server does not have; "
                               "expected headgate serve --admin-token-file FILE");
}

// Returns whether the caller may not do what needs this access; then it has been answered.
bool refuse_token(Exchange& exchange, Access needed) {
  const Secrets& secrets = exchange.door.credentials.now();
  const Access open_to_all = secrets.access_of_all();
  if (needed <= open_to_all) return false;
  // Without an admin token, no token helps, and there is nothing to guess.
  if (open_to_all == Access::all && secrets.admin_token.empty()) {
    refuse_access(exchange, open_to_all);
    return true;
  }
  const auto token = shown_token(exchange.request);
  const Access access = token ? secrets.access_of(*token) : Access::none;
  if (access == Access::none) {
    refuse_caller(exchange, token.has_value(), needed);
    return true;
  }
  if (access >= Access::all) exchange.caller.shown_token = secrets.number_of(access);
  if (access < needed) refuse_access(exchange, access);
  return access < needed;
}

// Returns why this request may be the work of a web page; std::nullopt if it is not.
std::optional<std::string_view> fault_of_page(const Exchange& exchange, const Route& route) {
  if (exchange.door.credentials.now().wants_token() || !exchange.caller.is_tcp) return std::nullopt;
  if (route.needs == Access::none) return std::nullopt;
  if (route.sender != Route::Sender::proxy) return fault_of_foreign_page(exchange.request);
  return fault_of_foreign_query(exchange.request, exchange.caller.local_port);
}

// Whether the body is not JSON by its Content-Type. A page needs the permission of another site to
// send it JSON. Programs may leave the field out; a page that does is known by its Origin.
bool is_other_than_json(const HttpRequest& request) noexcept {
  const auto type = request.first("content-type");
  return type &&
         !equal_ignoring_case(trimmed(type->substr(0, type->find(';'))), "application/json");
}

std::string_view names(Methods methods) noexcept {
  switch (methods) {
    case Methods::get:
      return "GET, HEAD";
    case Methods::post:
      return "POST";
    case Methods::put:
      return "PUT";
    case Methods::remove:
      return "DELETE";
    case Methods::any:
      break;
  }
  return "";
}

void refuse_method(Exchange& exchange) {
  std::string allowed;
  for (const Route& route : routes) {
    if (!is_at(route, exchange.request.path())) continue;
    allowed.append(allowed.empty() ? "" : ", ").append(names(route.methods));
  }
  if (allowed.empty()) allowed = names(asset_route.methods);
  exchange.reply.begin(405);
  exchange.reply.field("Allow", allowed);
  exchange.reply.end(field::problem_media_type,
                     problem_text(exchange.door, 405, "expected " + allowed + " of this path"));
}

}  // namespace

bool refuse(Exchange& exchange) {
  const Route* route = route_of(exchange.request);
  if (refuse_token(exchange, route == nullptr ? Access::read : route->needs)) return true;
  if (route == nullptr) {
    refuse_path(exchange);
    return true;
  }
  if (!allows(route->methods, exchange.request)) {
    refuse_method(exchange);
    return true;
  }
  if (const auto fault = fault_of_page(exchange, *route)) {
    answer_problem(exchange, 403, *fault);
    return true;
  }
  if (route->sender == Route::Sender::sender_of_json && is_other_than_json(exchange.request)) {
    answer_problem(exchange, 415,
                   "expected Content-Type: application/json (with curl: --json instead of -d)");
    return true;
  }
  return false;
}

bool answer_head(Exchange& exchange) {
  if (refuse(exchange)) return true;
  if (route_of(exchange.request)->needs != Access::none) return false;
  answer(exchange);
  return true;
}

bool takes_long(const HttpRequest& request) noexcept {
  if (request.body().size() > short_body_max) return true;
  const Route* const route = route_of(request);
  return route != nullptr && route->takes_long;
}

void answer(Exchange& exchange) { route_of(exchange.request)->answer(exchange); }

}  // namespace headgate::server
