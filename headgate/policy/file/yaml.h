// A YAML document as a tree with positions. The only place that knows the YAML parser.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/file/fault.h"

namespace headgate::policy::yaml {

enum class Kind : std::uint8_t { empty, scalar, list, map };

struct Node {
  Kind kind = Kind::empty;
  bool complete = true;               // false while its end has not been read
  std::uint32_t weight = 1;           // nodes in it, those behind aliases counted each time
  Position at;                        // an empty value of a map stands where its key does
  std::string text;                   // of a scalar, unescaped; quotes change nothing
  std::vector<const Node*> children;  // of a list: items; of a map: key, value, key, value
};

// "a list", "a map": for faults.
[[nodiscard]] std::string_view kind_name(Kind kind) noexcept;

// The largest file and the most nodes (aliases expanded) that are read at all.
inline constexpr std::size_t bytes_max = std::size_t{16} << 20;
inline constexpr std::uint32_t nodes_max = 2'000'000;

// Owns the nodes of one document.
class Document {
 public:
  // std::nullopt, and a fault, unless `text` is exactly one well-formed document in UTF-8, and not
  // an empty one. `expected` says what it should hold. Never throws but for lack of memory.
  [[nodiscard]] static std::optional<Document> parse(std::string_view text,
                                                     std::string_view expected, Faults& faults);

  [[nodiscard]] const Node& root() const noexcept { return nodes_.front(); }

 private:
  std::deque<Node> nodes_;  // in order of appearance: the root is first
};

}  // namespace headgate::policy::yaml
