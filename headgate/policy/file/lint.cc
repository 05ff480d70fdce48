#include "headgate/policy/file/lint.h"

#include <algorithm>
#include <cstddef>

#include "headgate/base/ascii.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/match/host.h"
#include "headgate/policy/match/path.h"
#include "headgate/policy/match/request_value.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

template <class Range, class Holds>
bool any(const Range& range, const Holds& holds) {
  return std::any_of(range.begin(), range.end(), holds);
}

// Whether a host is an IPv6 address without its brackets.
bool is_bare_ipv6(std::string_view host) {
  const std::size_t colon = host.find(':');
  return colon != host.npos && host[0] != '[' && host.find(':', colon + 1) != host.npos;
}

// The host as requests are compared: without scheme, path, port and final dot.
std::string bare_host(std::string_view host) {
  if (const std::size_t scheme = host.find("://"); scheme != host.npos) {
    host.remove_prefix(scheme + 3);
  }
  host = host.substr(0, host.find('/'));
  if (is_bare_ipv6(host)) return '[' + std::string(host) + ']';
  host = without_port(host);
  if (host.ends_with('.')) host.remove_suffix(1);
  return std::string(host);
}

std::string folded(std::string_view path) {
  std::string out;
  append_folded_path(path, out);
  return out;
}

// The part in the form that requests have.
std::string counted(const Component& component, std::string_view part) {
  std::string out;
  component.append_given(part, out);
  return out;
}

// What is known of all requests whose key has these parts.
class Known {
 public:
  Known(std::span<const Component> key, std::span<const std::string_view> parts)
      : key_(key), parts_(parts) {}

  // Whether no such request meets the condition.
  [[nodiscard]] bool refutes(const Condition& condition) const {
    for (std::size_t i = 0; i < key_.size(); ++i) {
      if (refutes(condition, key_[i], parts_[i])) return true;
    }
    return any(condition.refuted, [&](const Condition& other) { return proves(other); });
  }

  // Whether all such requests surely meet the condition.
  [[nodiscard]] bool proves(const Condition& condition) const {
    const bool only_known = condition.paths.empty() && condition.exact_paths.empty() &&
                            condition.headers.empty() && condition.present.empty() &&
                            condition.refuted.empty();
    return only_known && (condition.addresses.empty() || proves_address(condition.addresses)) &&
           (condition.methods.empty() || proves_method(condition.methods)) &&
           (!condition.host || proves_host(*condition.host));
  }

 private:
  [[nodiscard]] static bool refutes(const Condition& condition, const Component& component,
                                    std::string_view part) {
    switch (component.kind()) {
      case Component::Kind::address: {
        const auto block = component.block(part);
        return block && !condition.addresses.empty() &&
               !any(condition.addresses, [&](const AddressBlock& other) {
                 return other.contains(block->lowest) || block->contains(other.lowest);
               });
      }
      case Component::Kind::method:
        return !condition.methods.empty() &&
               !any(condition.methods,
                    [&](const std::string& method) { return equal_ignoring_case(method, part); });
      case Component::Kind::host: {
        const std::string host = counted(component, part);
        return condition.host && host != malformed_host && !condition.host->matches(host);
      }
      case Component::Kind::path: {
        const std::string path = folded(part);
        return !condition.paths.empty() && !any(condition.paths, [&](const Condition::Path& other) {
          return other.routed.matches(path);
        });
      }
      case Component::Kind::header: {
        // Several lines of a header are one part, and the scheme of credentials is folded.
        const bool is_host = component.name() == "host";
        std::string line;
        if (is_host) {
          component.append_given(part, line);
        } else {
          append_line(component.name(), part, line);
        }
        return part.find(',') == part.npos && !component.name().ends_with("authorization") &&
               !(is_host && line == malformed_host) &&
               any(condition.headers, [&](const Condition::HeaderGlob& header) {
                 return header.name == component.name() && !header.exact.matches(part) &&
                        !header.folded.matches(line);
               });
      }
      case Component::Kind::cookie:
      case Component::Kind::query:
      case Component::Kind::registered_domain:
        return false;
    }
    return false;
  }

  [[nodiscard]] bool proves_address(const std::vector<AddressBlock>& blocks) const {
    return any_part(
        Component::Kind::address, [&](const Component& component, std::string_view part) {
          const auto block = component.block(part);
          return block && any(blocks, [&](const AddressBlock& other) {
                   return other.prefix <= block->prefix && other.contains(block->lowest);
                 });
        });
  }

  [[nodiscard]] bool proves_method(const std::vector<std::string>& methods) const {
    return any_part(Component::Kind::method, [&](const Component&, std::string_view part) {
      return any(methods,
                 [&](const std::string& method) { return equal_ignoring_case(method, part); });
    });
  }

  [[nodiscard]] bool proves_host(const Glob& pattern) const {
    return any_part(Component::Kind::host, [&](const Component& component, std::string_view part) {
      const std::string host = counted(component, part);
      return host != malformed_host && pattern.matches(host);
    });
  }

  template <class Holds>
  [[nodiscard]] bool any_part(Component::Kind kind, const Holds& holds) const {
    for (std::size_t i = 0; i < key_.size(); ++i) {
      if (key_[i].kind() == kind && holds(key_[i], parts_[i])) return true;
    }
    return false;
  }

  std::span<const Component> key_;
  std::span<const std::string_view> parts_;
};

// How many comparisons one id takes at most.
std::size_t weight(const std::vector<Condition>& conditions) {
  std::size_t all = 0;
  for (const Condition& condition : conditions) {
    all += 1 + condition.paths.size() + condition.methods.size() + condition.headers.size() +
           condition.addresses.size() + weight(condition.refuted);
  }
  return all;
}

// They take about a second. A hundred thousand ids and forty conditions are compared.
constexpr std::size_t comparisons_max = 4'000'000;

constexpr std::string_view no_pattern =
    "is compared letter by letter, also its '*'; expected what one request has";

// What is wrong with one part of an id.
std::optional<std::string> lint_part(const Component& component, std::string_view part) {
  if (part.empty()) return std::nullopt;  // of requests that lack it
  switch (component.kind()) {
    case Component::Kind::host: {
      if (part == malformed_host) return std::nullopt;
      // Its port and final dot are left out, as those of a request are.
      std::string_view host = is_bare_ipv6(part) ? part : without_port(part);
      if (host.ends_with('.')) host.remove_suffix(1);
      return lint_host(host);
    }
    case Component::Kind::path:
      if (!part.starts_with('/')) return "is the path of no request; expected '/' first";
      if (part.find('*') != part.npos) return std::string(no_pattern);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Whether a segment of a path is what frameworks write for a parameter: {id}, <id> or :id.
bool has_parameter(std::string_view path) {
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    const bool is_bracketed = (segment.starts_with('{') && segment.ends_with('}')) ||
                              (segment.starts_with('<') && segment.ends_with('>'));
    if (is_bracketed || (segment.size() > 1 && segment.starts_with(':'))) return true;
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
  }
  return false;
}

// Whether a path begins anew behind what may stand between two of them, as in "/a, /b".
bool has_several(std::string_view path) {
  for (std::size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) {
    if (std::string_view(" ,|").find(path[at - 1]) != std::string_view::npos) return true;
  }
  return false;
}

// What is wrong with a path that is compared letter by letter.
std::optional<std::string> lint_letters(std::string_view path) {
  if (has_parameter(path)) {
    return "is compared letter by letter, also what looks like a parameter; expected '*' for any "
           "characters";
  }
  if (has_several(path)) return "is one path, not several; expected a list of them, like [/a, /b]";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> lint_method(std::string_view method) {
  const bool is_usual =
      !any(method, [](char c) { return !is_letter(c) && !is_digit(c) && c != '-' && c != '_'; });
  if (is_usual) return std::nullopt;
  return "matches no request, because it has a character that methods do not have; expected one "
         "like GET, a list of them, or no 'method' for all";
}

std::optional<std::string> lint_header(std::string_view name) {
  const bool is_usual =
      !any(name, [](char c) { return !is_letter(c) && !is_digit(c) && c != '-'; });
  if (is_usual) return std::nullopt;
  return "has a character other than letters, digits and '-', so that nginx and the gateway drop "
         "it; expected one like x-api-key";
}

std::optional<std::string> lint_component(const Component& component) {
  const bool is_header = component.kind() == Component::Kind::header ||
                         component.kind() == Component::Kind::registered_domain;
  return is_header ? lint_header(component.name()) : std::nullopt;
}

std::optional<std::string> lint_host(std::string_view host) {
  const std::string bare = bare_host(host);
  if (bare != host) {
    return "matches no request, because hosts are compared without scheme, port, path and final "
           "dot; expected " +
           (bare.empty() ? "a host name" : in_quotes(bare));
  }
  if (any(host, [](char c) {
        return c <= ' ' || c >= 0x7f || std::string_view("?#@,").find(c) != std::string_view::npos;
      })) {
    return "matches no request, because it has a character that hosts do not have; expected a host "
           "name";
  }
  if (host.find('*') != host.npos) return std::nullopt;
  std::string compared;
  append_host(host, compared);
  if (compared == malformed_host) {
    return "matches no request, because it is neither a host name nor an address; expected one";
  }
  if (compared != lowered(host)) {
    return "is compared as the address that it is, " + in_quotes(compared) + "; expected it so";
  }
  return std::nullopt;
}

std::optional<std::string> lint_path(std::string_view pattern, Effect effect) {
  if (effect == Effect::exempts) return lint_exact_path(pattern, effect);
  if (auto wrong = lint_letters(pattern)) return wrong;
  const std::string compared = folded(pattern);
  std::string plain = lowered(pattern);
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  if (compared == plain) return std::nullopt;
  if (!compared.starts_with('/') && !compared.starts_with('*')) {
    return "matches no request, because it is compared without dots and escapes, as " +
           in_quotes(compared) + "; expected a path that begins with '/' or '*' then";
  }
  return "is compared without dots, escapes and double slashes, as " + in_quotes(compared) +
         "; expected it so, or exact-path";
}

std::optional<std::string> lint_exact_path(std::string_view pattern, Effect effect) {
  if (auto wrong = lint_letters(pattern)) return wrong;
  if (const std::size_t at = pattern.find_first_of(" #"); at != pattern.npos) {
    return std::string("matches no request, because clients send ") +
           (pattern[at] == ' ' ? "a space as %20" : "a '#' as %23") + "; expected it so";
  }
  if (effect == Effect::limits) return std::nullopt;
  const PathPattern routed(pattern);
  std::string buffer;
  FoldedPath path(pattern, buffer);
  if (!any(path.readings(), [&](std::string_view reading) { return !routed.matches(reading); })) {
    return std::nullopt;
  }
  return "exempts no request, because upstreams read such a path in several ways; expected one "
         "without '..', and with one '/' at its begin";
}

IdLinter::IdLinter(const std::vector<Condition>& allow)
    : allow_(allow), allow_weight_(weight(allow)), left_(comparisons_max) {}

std::optional<std::string> IdLinter::lint(std::span<const Component> key,
                                          std::span<const std::string_view> parts,
                                          const std::vector<Condition>& conditions) {
  if (left_ == 0) return std::nullopt;
  left_ -= std::min(left_, 1 + allow_weight_ + weight(conditions));
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (auto wrong = lint_part(key[i], parts[i])) return wrong;
  }
  const Known known(key, parts);
  if (any(allow_, [&](const Condition& condition) { return known.proves(condition); })) {
    return "is never used, because 'allow' lets all its requests pass; expected another id, or no "
           "override";
  }
  if (conditions.empty() ||
      any(conditions, [&](const Condition& condition) { return !known.refutes(condition); })) {
    return std::nullopt;
  }
  return "is never used, because none of its requests matches this policy; expected an id that "
         "'match' lets in";
}

}  // namespace headgate::policy
