#include "headgate/cli/check/upgrades.h"

#include <algorithm>
#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate::cli {
namespace {

template <class Visit>
void each_directive(const std::vector<NginxDirective>& block, const Visit& visit) {
  for (const NginxDirective& directive : block) {
    visit(directive);
    each_directive(directive.block, visit);
  }
}

bool has_arguments(const NginxDirective& directive, std::string_view name, std::size_t count) {
  return directive.words.size() == count + 1 && directive.words.front() == name;
}

// "${name}" is "$name".
std::string variable(std::string_view word) {
  if (!word.starts_with("${") || !word.ends_with('}')) return std::string(word);
  return '$' + std::string(word.substr(2, word.size() - 3));
}

// Whether a source value of `map $http_upgrade` is WebSocket's alone. A map compares texts without
// regard to case.
bool is_websocket_pattern(std::string_view source) {
  return equal_ignoring_case(source, "websocket") || equal_ignoring_case(source, "~*^websocket$") ||
         equal_ignoring_case(source, "~^websocket$");
}

class Values {
 public:
  explicit Values(const std::vector<NginxDirective>& conf) : conf_(conf) {}

  // Whether a value is "websocket" or "", whatever the client sends. `depth` bounds variables that
  // refer to each other.
  [[nodiscard]] bool is_closed(const std::string& value, std::size_t depth = 0) const {
    if (value.empty() || equal_ignoring_case(value, "websocket")) return true;
    if (value[0] != '$' || depth == depth_max) return false;
    const std::string name = variable(value);
    bool defined = false;
    bool closed = true;
    each_directive(conf_, [&](const NginxDirective& directive) {
      if (has_arguments(directive, "map", 2) && variable(directive.words[2]) == name) {
        defined = true;
        closed = closed && is_closed_map(directive, depth);
      } else if (has_arguments(directive, "set", 2) && variable(directive.words[1]) == name) {
        defined = true;
        closed = closed && is_closed(directive.words[2], depth + 1);
      }
    });
    return defined && closed;
  }

 private:
  static constexpr std::size_t depth_max = 8;

  [[nodiscard]] bool is_closed_map(const NginxDirective& map, std::size_t depth) const {
    const bool of_upgrade = variable(map.words[1]) == "$http_upgrade";
    return std::all_of(map.block.begin(), map.block.end(), [&](const NginxDirective& entry) {
      if (entry.words.size() != 2) return true;  // volatile, hostnames
      const bool itself = variable(entry.words[1]) == "$http_upgrade";
      if (of_upgrade && itself && is_websocket_pattern(entry.words[0])) return true;
      return is_closed(entry.words[1], depth + 1);
    });
  }

  const std::vector<NginxDirective>& conf_;
};

}  // namespace

std::vector<std::string> open_upgrades(const std::vector<NginxDirective>& conf) {
  const Values values(conf);
  std::vector<std::string> faults;
  each_directive(conf, [&](const NginxDirective& directive) {
    if (!has_arguments(directive, "proxy_set_header", 2) ||
        !equal_ignoring_case(directive.words[1], "Upgrade") ||
        values.is_closed(directive.words[2])) {
      return;
    }
    faults.push_back(
        directive.file + ':' + std::to_string(directive.line) +
        ": a client can upgrade to h2c and send requests that are not counted: Upgrade "
        "may be any value of '" +
        directive.words[2] +
        "'; expected websocket alone, as by 'map $http_upgrade $upgrade { default \"\"; "
        "websocket websocket; }'");
  });
  return faults;
}

}  // namespace headgate::cli
