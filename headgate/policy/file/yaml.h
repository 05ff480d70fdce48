// A YAML document as a tree with positions. Only this file uses the YAML library.
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
  bool complete = true;               // false until its end has been read
  std::uint32_t weight = 1;           // nodes in its subtree, aliased ones counted at each alias
  Position at;                        // for an empty value in a map: the position of its key
  std::string text;                   // of a scalar, without quotes and escapes
  std::vector<const Node*> children;  // of a list: items; of a map: key, value, key, value
};

// Returns "a list", "a map" and so on, for faults.
[[nodiscard]] std::string_view kind_name(Kind kind) noexcept;

// Larger files, and files with more nodes (with aliases expanded), are refused. The numbers leave
// room for Boulder's form of a hundred thousand overrides (sixteen nodes each), and bound the time
// and the memory that any file can take: about four seconds and 460 MB.
inline constexpr std::size_t bytes_max = std::size_t{16} << 20;
inline constexpr std::uint32_t nodes_max = 2'000'000;

// Owns the nodes of one document.
class Document {
 public:
  // Returns the document, or adds a fault and returns std::nullopt unless `text` is exactly one
  // well-formed document in UTF-8 that is not empty. `expected` names the expected content in that
  // fault. Throws only std::bad_alloc.
  [[nodiscard]] static std::optional<Document> parse(std::string_view text,
                                                     std::string_view expected, Faults& faults);

  [[nodiscard]] const Node& root() const noexcept { return nodes_.front(); }

 private:
  std::deque<Node> nodes_;  // in order of appearance: the root is first
};

}  // namespace headgate::policy::yaml
