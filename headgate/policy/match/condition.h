// A condition on requests: one entry of a policy's `match`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headgate/policy/address/address.h"
#include "headgate/policy/fields_used.h"
#include "headgate/policy/match/component.h"
#include "headgate/policy/match/glob.h"
#include "headgate/policy/match/lazy_request.h"
#include "headgate/policy/match/path.h"

namespace headgate::policy {

// What a request gets if a condition holds. What can be read in several ways is read in the
// client's disfavour: no spelling escapes a limit, and none is exempted.
enum class Effect : std::uint8_t {
  limits,   // holds if any reading of the request does
  exempts,  // holds if all readings do, and a path also byte by byte
};

// Holds if all of its parts hold. An absent part always holds.
struct Condition {
  // A pattern of `path` or of `exact-path`.
  struct Path {
    explicit Path(std::string_view pattern) : routed(pattern), exact(pattern) {}

    PathPattern routed;
    Glob exact;
  };
  // A pattern of `header`.
  struct HeaderGlob {
    HeaderGlob(std::string name, std::string_view pattern);

    std::string name;  // lower case
    Glob exact;
    // Of what FoldedHeaders has: in any case, as types of content and schemes of credentials are
    // compared, and with any white space. Of `host`, a host_pattern().
    Glob folded;
  };

  std::vector<Path> paths;           // holds for any of them; empty: for every path
  std::vector<Path> exact_paths;     // the same, of the path as the client sent it
  std::vector<std::string> methods;  // the same
  std::optional<Glob> host;          // host_pattern(); a malformed host limits, and exempts nothing
  std::vector<HeaderGlob> headers;   // Effect::limits: any line; exempts: all, and there is one
  std::vector<AddressBlock> addresses;  // of the client; holds for any of them; empty: for every
                                        // one Effect::exempts: only if the client is certain
  std::vector<Component> present;       // the request has all of them
  std::vector<Condition> refuted;       // none of them holds

  [[nodiscard]] bool holds(LazyRequest& request, Effect effect) const;

  // Whether it holds for some hosts and not for others.
  [[nodiscard]] bool asks_for_host() const noexcept;

  // Adds the request fields that holds() reads.
  void add_to(FieldsUsed& fields_used) const;
};

// Returns the condition that holds for requests by which browsers ask whether a page of another
// origin may send a request (https://fetch.spec.whatwg.org/#cors-preflight-request).
[[nodiscard]] Condition preflight();

[[nodiscard]] bool any_holds(const std::vector<Condition>& conditions, LazyRequest& request,
                             Effect effect);

}  // namespace headgate::policy
