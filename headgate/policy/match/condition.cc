#include "headgate/policy/match/condition.h"

#include <algorithm>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/policy/match/request_value.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

template <class Range, class Holds>
bool any(const Range& range, const Holds& holds) {
  return std::any_of(range.begin(), range.end(), holds);
}

template <class Range, class Holds>
bool all(const Range& range, const Holds& holds) {
  return std::all_of(range.begin(), range.end(), holds);
}

// Some upstreams ignore the case of a method.
bool method_matches(const std::vector<std::string>& methods, std::string_view method,
                    Effect effect) {
  return methods.empty() || any(methods, [&](const std::string& one) {
           return effect == Effect::limits ? equal_ignoring_case(one, method) : one == method;
         });
}

bool host_matches(const Glob& pattern, LazyRequest& request, Effect effect) {
  if (effect == Effect::limits && request.may_be_any_host()) return true;
  if (effect == Effect::exempts && !request.host_is_certain()) return false;
  return pattern.matches(request.host());
}

// Whether the Host that the client sent is that of the request. It may not be if the request's
// target has a host of its own.
bool is_own_host(std::string_view sent, LazyRequest& request) {
  const std::string_view own = request.raw().host;
  if (own.empty()) return true;  // nothing else names it
  return !request.may_be_any_host() && is_same_text(without_port(sent), own);
}

bool header_matches(LazyRequest& request, const Condition::HeaderGlob& header, Effect effect) {
  const bool limits = effect == Effect::limits;
  const Headers& headers = *request.raw().headers;
  bool matches = false;
  for (std::size_t nth = 0; const auto line = headers.value(header.name, nth); ++nth) {
    matches = header.exact.matches(*line);
    if (matches == limits) return matches;
  }
  if (!limits) {
    return matches &&
           (header.name != "host" || is_own_host(*headers.value(header.name, 0), request));
  }
  // The client chooses the spelling of the name, and a port.
  if (header.name == "host" && host_matches(header.folded, request, effect)) return true;
  return request.any_value(header.name, header.folded);
}

// Whether the path is surely one that the pattern means, however the upstream reads it.
bool is_surely(const Condition::Path& pattern, LazyRequest& request) {
  return pattern.exact.matches(request.raw().path) &&
         all(request.path().readings(),
             [&](std::string_view reading) { return pattern.routed.matches(reading); });
}

bool path_matches(const std::vector<Condition::Path>& patterns, LazyRequest& request,
                  Effect effect) {
  return patterns.empty() || any(patterns, [&](const Condition::Path& pattern) {
           if (effect == Effect::exempts) return is_surely(pattern, request);
           return any(request.path().readings(),
                      [&](std::string_view reading) { return pattern.routed.matches(reading); });
         });
}

bool exact_path_matches(const std::vector<Condition::Path>& patterns, LazyRequest& request,
                        Effect effect) {
  return patterns.empty() || any(patterns, [&](const Condition::Path& pattern) {
           if (effect == Effect::exempts) return is_surely(pattern, request);
           const std::string_view path = request.raw().path;
           // Some upstreams end the path at a '#'.
           return pattern.exact.matches(path) ||
                  pattern.exact.matches(path.substr(0, path.find('#')));
         });
}

bool contains(const std::vector<AddressBlock>& blocks, const std::optional<Address>& address) {
  return address &&
         any(blocks, [&](const AddressBlock& block) { return block.contains(*address); });
}

bool address_matches(const std::vector<AddressBlock>& blocks, LazyRequest& request, Effect effect) {
  if (blocks.empty()) return true;
  const Client& client = request.client();
  if (effect == Effect::exempts) return client.is_certain && contains(blocks, client.address);
  return contains(blocks, client.address) ||
         any(client.claimed, [&](const auto& claimed) { return contains(blocks, claimed); });
}

bool is_present(const Component& component, const Request& request, Effect effect) {
  const Presence presence = component.presence(request);
  return effect == Effect::limits ? presence != Presence::absent : presence == Presence::present;
}

}  // namespace

Condition::HeaderGlob::HeaderGlob(std::string header, std::string_view pattern)
    : name(std::move(header)), exact(pattern), folded("") {
  std::string text;
  append_line(name, pattern, text);
  folded = Glob(name == "host" ? host_pattern(text) : text);
}

bool Condition::holds(LazyRequest& request, Effect effect) const {
  const Request& raw = request.raw();
  if (!method_matches(methods, raw.method, effect)) return false;
  const Effect opposite = effect == Effect::limits ? Effect::exempts : Effect::limits;
  return exact_path_matches(exact_paths, request, effect) && path_matches(paths, request, effect) &&
         (!host || host_matches(*host, request, effect)) &&
         all(headers,
             [&](const HeaderGlob& header) { return header_matches(request, header, effect); }) &&
         address_matches(addresses, request, effect) &&
         all(present,
             [&](const Component& component) { return is_present(component, raw, effect); }) &&
         !any_holds(refuted, request, opposite);
}

bool Condition::asks_for_host() const noexcept {
  return host || any(headers, [](const HeaderGlob& header) { return header.name == "host"; });
}

void Condition::add_to(FieldsUsed& fields_used) const {
  fields_used.path |= !paths.empty() || !exact_paths.empty();
  fields_used.method |= !methods.empty();
  fields_used.host |= host.has_value();
  for (const HeaderGlob& header : headers) {
    fields_used.host |= header.name == "host";
    fields_used.request_headers.insert(header.name);
  }
  for (const Component& component : present) component.add_to(fields_used);
  for (const Condition& other : refuted) other.add_to(fields_used);
}

Condition preflight() {
  Condition condition;
  condition.methods = {"OPTIONS"};
  for (const std::string_view header : {"header:origin", "header:access-control-request-method"}) {
    condition.present.push_back(*Component::parse(header, {}));
  }
  return condition;
}

bool any_holds(const std::vector<Condition>& conditions, LazyRequest& request, Effect effect) {
  return any(conditions,
             [&](const Condition& condition) { return condition.holds(request, effect); });
}

}  // namespace headgate::policy
