#include "headgate/policy/file/yaml.h"

#include <yaml.h>

#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "headgate/policy/file/indentation.h"
#include "headgate/policy/file/spelling.h"

namespace headgate::policy::yaml {
namespace {

// Thrown to stop reading a document: the fault that refuses it.
struct Refused {
  Position at;
  std::string what;
};

// Whether YAML's core schema reads an unquoted text as null.
bool is_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// Converts positions: the YAML library counts columns in characters, Position counts them in bytes.
class Columns {
 public:
  explicit Columns(std::string_view text) : text_(text) {
    for (const char c : text) ascii_ = ascii_ && static_cast<unsigned char>(c) < 0x80;
    if (ascii_) return;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (const std::size_t length = line_break(i)) lines_.push_back(i + length);
    }
  }

  [[nodiscard]] Position position(const yaml_mark_t& mark) {
    Position at{static_cast<std::uint32_t>(mark.line + 1),
                static_cast<std::uint32_t>(mark.column + 1)};
    if (ascii_ || mark.line >= lines_.size()) return at;
    // Marks come nearly in order: from the last one on, so that a long line is read once.
    if (mark.line != last_line_ || mark.column < last_column_) {
      last_line_ = mark.line;
      last_column_ = 0;
      last_byte_ = lines_[mark.line];
    }
    for (; last_column_ < mark.column && last_byte_ < text_.size(); ++last_column_) {
      do ++last_byte_;
      while (last_byte_ < text_.size() &&
             (static_cast<unsigned char>(text_[last_byte_]) & 0xc0) == 0x80);
    }
    at.column = static_cast<std::uint32_t>(last_byte_ - lines_[mark.line] + 1);
    return at;
  }

 private:
  // Returns the length of the line break (of YAML 1.1) that starts at i, or 0.
  [[nodiscard]] std::size_t line_break(std::size_t i) const {
    const std::string_view rest = text_.substr(i, 3);
    if (rest.starts_with("\r\n") || rest.starts_with("\u0085")) return 2;
    if (rest == "\u2028" || rest == "\u2029") return 3;
    return rest[0] == '\n' || rest[0] == '\r' ? 1 : 0;
  }

  std::string_view text_;
  bool ascii_ = true;
  std::vector<std::size_t> lines_{0};  // where each line begins; filled only if not all is ASCII
  // The last mark: its line and column, and the byte there.
  std::size_t last_line_ = 0;
  std::size_t last_column_ = 0;
  std::size_t last_byte_ = 0;
};

// Builds the tree. An alias refers to the node of its anchor, which is not copied.
class Builder {
 public:
  Builder(std::deque<Node>& nodes, Columns& columns) : nodes_(nodes), columns_(columns) {}

  // Adds one event of a document to the tree.
  void take(const yaml_event_t& event) {
    const Position at = columns_.position(event.start_mark);
    switch (event.type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.tag == nullptr;
        const bool empty = plain && is_null(text);
        Node& node =
            make(empty ? Kind::empty : Kind::scalar, at, view(scalar.tag), view(scalar.anchor));
        if (!empty) node.text = text;
        attach(node);
        break;
      }
      case YAML_SEQUENCE_START_EVENT: {
        const auto& start = event.data.sequence_start;
        begin(make(Kind::list, at, view(start.tag), view(start.anchor)));
        break;
      }
      case YAML_MAPPING_START_EVENT: {
        const auto& start = event.data.mapping_start;
        begin(make(Kind::map, at, view(start.tag), view(start.anchor)));
        break;
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        end();
        break;
      case YAML_ALIAS_EVENT:
        alias(view(event.data.alias.anchor), at);
        break;
      default:
        break;
    }
  }

 private:
  Node& make(Kind kind, Position at, std::string_view tag, std::string_view anchor) {
    if (!tag.empty() && tag != "!") {
      throw Refused{at, "tag " + in_quotes(tag) + " has no meaning here; expected a plain value"};
    }
    weigh(1, at);
    Node& node = nodes_.emplace_back();
    node.kind = kind;
    node.at = at;
    if (!anchor.empty()) anchors_.insert_or_assign(std::string(anchor), &node);
    return node;
  }

  void alias(std::string_view name, Position at) {
    const auto found = anchors_.find(std::string(name));
    if (found == anchors_.end()) {
      throw Refused{at,
                    "an alias without an anchor; expected an anchor of that name before it, or "
                    "quotes around a text that begins with '*'"};
    }
    Node& node = *found->second;
    if (!node.complete) {
      throw Refused{
          at,
          "an alias inside the value of its own anchor; expected it after the end of that value"};
    }
    weigh(node.weight, at);
    attach(node);
  }

  void weigh(std::uint32_t weight, Position at) {
    total_ += weight;
    if (total_ > nodes_max) {
      throw Refused{at, "too many values; expected at most " + std::to_string(nodes_max) +
                            ", each alias counted as what it names"};
    }
  }

  void begin(Node& node) {
    if (open_.size() == depth_max) {
      throw Refused{node.at, "nested too deeply; expected lists and maps of a few levels"};
    }
    node.complete = false;
    open_.push_back(&node);
  }

  void end() {
    Node& node = *open_.back();
    open_.pop_back();
    if (node.kind == Kind::map) merge(node);
    node.complete = true;
    attach(node);
  }

  // Replaces the merge keys of a map, "<<", by the keys of the maps that they name. The map's own
  // keys come before theirs, and those of an earlier map before those of a later one, as
  // https://yaml.org/type/merge.html says.
  void merge(Node& node) {
    const auto is_merge = [](const Node* key) {
      return key->kind == Kind::scalar && key->text == "<<";
    };
    std::vector<const Node*> own;
    std::vector<const Node*> merged;
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      auto& to = is_merge(node.children[i]) ? merged : own;
      to.insert(to.end(), {node.children[i], node.children[i + 1]});
    }
    if (merged.empty()) return;
    if (merged.size() > 2) {
      throw Refused{merged[2]->at, "duplicate key '<<'; expected it once, with a list of maps"};
    }
    std::unordered_set<std::string_view> taken;
    for (std::size_t i = 0; i < own.size(); i += 2) taken.insert(own[i]->text);
    const auto add = [&](const Node& from) {
      if (from.kind != Kind::map) {
        throw Refused{from.at, "'<<' with " + std::string(kind_name(from.kind)) +
                                   "; expected a map, or a list of maps"};
      }
      for (std::size_t i = 0; i + 1 < from.children.size(); i += 2) {
        if (!taken.insert(from.children[i]->text).second) continue;
        own.insert(own.end(), {from.children[i], from.children[i + 1]});
      }
    };
    for (std::size_t i = 0; i < merged.size(); i += 2) {
      const Node& value = *merged[i + 1];
      if (value.kind == Kind::list) {
        for (const Node* item : value.children) add(*item);
      } else {
        add(value);
      }
    }
    node.children = std::move(own);
  }

  void attach(Node& node) {
    if (open_.empty()) return;
    Node& parent = *open_.back();
    const bool is_value = parent.kind == Kind::map && parent.children.size() % 2 == 1;
    if (is_value && node.kind == Kind::empty) node.at = parent.children.back()->at;
    parent.weight += node.weight;
    parent.children.push_back(&node);
  }

  // Policy files need 7 levels, Envoy's configurations 2 per entry of a descriptor. Bounds the
  // recursion of the code that reads the tree.
  static constexpr std::size_t depth_max = 100;

  std::deque<Node>& nodes_;
  Columns& columns_;
  std::vector<Node*> open_;
  std::unordered_map<std::string, Node*> anchors_;
  std::uint64_t total_ = 0;
};

// Owns the parser of the C library and its last event.
class Parser {
 public:
  explicit Parser(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    const char* const begin = text.empty() ? "" : text.data();  // must not be null
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(begin),
                                 text.size());
  }
  ~Parser() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // Returns the next event, valid until the next call, or nullptr if the text is not YAML.
  const yaml_event_t* next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) != 0) return &event_;
    if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    return nullptr;
  }

  [[nodiscard]] const yaml_mark_t& fault_mark() const { return parser_.problem_mark; }
  // Where the library began to read what has the fault. Only some faults set it.
  [[nodiscard]] const yaml_mark_t& context_mark() const { return parser_.context_mark; }
  [[nodiscard]] std::string fault_words() const {
    return parser_.problem == nullptr ? "unreadable" : parser_.problem;
  }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

// Returns the length of the well-formed UTF-8 sequence (RFC 3629) at the start of `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto follows = [&](std::size_t i, unsigned from = 0x80, unsigned to = 0xbf) {
    return byte(i) >= from && byte(i) <= to;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned from = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned to = first == 0xed ? 0x9f : 0xbf;
    return follows(1, from, to) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned from = first == 0xf0 ? 0x90 : 0x80;
    const unsigned to = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, from, to) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// Returns whether the text is UTF-8 without control characters; otherwise adds a fault.
bool is_text(std::string_view text, Faults& faults) {
  Position at{1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool control = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    const std::size_t length = sequence_length(text.substr(i, 4));
    if (control || length == 0) {
      faults.add(at, "byte " + in_quotes(text.substr(i, 1)) +
                         (control ? " is a control character; expected text in UTF-8"
                                  : " is not UTF-8; expected text in UTF-8"));
      return false;
    }
    if (c == '\n') {
      at = {at.line + 1, 1};
    } else {
      at.column += static_cast<std::uint32_t>(length);
    }
    i += length;
  }
  return true;
}

// Returns the position of the first tab in an indentation, up to `last_line`. Tabs are the usual
// cause of syntax errors that the library reports in other words.
std::optional<Position> tab_indent(std::string_view text, std::uint32_t last_line) {
  for (std::uint32_t line = 1; line <= last_line && !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view content = text.substr(0, end);
    const std::size_t first = content.find_first_not_of(' ');
    if (first != std::string_view::npos && content[first] == '\t') {
      return Position{line, static_cast<std::uint32_t>(first + 1)};
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return std::nullopt;
}

// Whether the library reports so a line whose indentation fits no block, and how.
enum class Indentation { unrelated, between_blocks, continues_value };

Indentation indentation_in(std::string_view words) {
  if (words.starts_with("did not find expected key") ||
      words.starts_with("did not find expected '-' indicator")) {
    return Indentation::between_blocks;
  }
  return words.starts_with("mapping values are not allowed") ? Indentation::continues_value
                                                             : Indentation::unrelated;
}

// Whether the library notices a mistake behind its place: where the next line or the file ends, and
// not where a key without a value or a quoted text begins.
bool is_reported_late(std::string_view words) {
  return words.starts_with("could not find expected ':'") ||
         words.starts_with("found unexpected end of stream") ||
         words.starts_with("did not find expected alphabetic");
}

// Returns the fault for a syntax error of the library, in words about this file format for the
// common mistakes.
std::string syntax_words(const std::string& words) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"mapping values are not allowed",
       "a ':' that starts no value; expected 'key: value' alone on its line, or "
       "quotes around a text with ': '"},
      {"found unexpected ':'",
       "a ':' with nothing behind it; expected 'key: value', or quotes around the text"},
      {"could not find expected ':'",
       "a line that is no 'key: value'; expected one, with a space behind the ':' and in the "
       "column of the keys above"},
      {"did not find expected key",
       "a line that continues no map; expected 'key: value', in the column of the keys above"},
      {"did not find expected '-' indicator",
       "a line that continues no list; expected '- item', in the column of the items above"},
      {"block sequence entries are not allowed",
       "a '-' where no list can start; expected the list on a line of its own"},
      {"did not find expected ',' or '}'", "a map that is not closed; expected ',' or '}'"},
      {"did not find expected ',' or ']'", "a list that is not closed; expected ',' or ']'"},
      {"found unexpected end of stream", "a quoted text that is not closed; expected its quote"},
      {"did not find expected <document start>",
       "something after the end of the file's map; expected nothing"},
      {"did not find expected node content", "a mark that belongs to no value; expected a value"},
      {"did not find expected alphabetic or numeric character",
       "a text that begins with '*' or '&', which have a meaning in YAML; expected quotes around "
       "it"},
      {"found character that cannot start any token",
       "a text that begins with a character that has a meaning in YAML; expected quotes around "
       "it"}};
  for (const auto& [library_words, our_words] : known) {
    if (words.starts_with(library_words)) return std::string(our_words);
  }
  return "not well-formed YAML (" + words + ")";
}

// Returns the fault for a syntax error that the library found at `at`. `start`: where it began to
// read what it could not end, if it says that.
Refused syntax_fault(std::string_view text, Position at, Position start, const std::string& words) {
  if (const auto tab = tab_indent(text, at.line)) {
    return {*tab, "a tab in the indentation; expected spaces"};
  }
  const Indentation indentation = indentation_in(words);
  if (indentation != Indentation::unrelated) {
    const bool continues = indentation == Indentation::continues_value;
    if (auto wrong = misindented(text, at.line, continues)) {
      return {wrong->at, std::move(wrong->what)};
    }
    if (const auto colon = unspaced_colon(text, at.line); colon && continues) {
      return {*colon, "a ':' without a space behind it; expected 'key: value'"};
    }
  }
  return {is_reported_late(words) ? start : at, syntax_words(words)};
}

}  // namespace

std::string_view kind_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::empty:
      return "empty";
    case Kind::scalar:
      return "a single value";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "";
}

std::optional<Document> Document::parse(std::string_view text, std::string_view expected,
                                        Faults& faults) {
  if (text.size() > bytes_max) {
    faults.add({},
               "larger than " + std::to_string(bytes_max >> 20) + " MiB; expected a smaller file");
    return std::nullopt;
  }
  if (!is_text(text, faults)) return std::nullopt;
  if (text.starts_with("\ufeff")) text.remove_prefix(3);  // skip a byte order mark
  Document document;
  Columns columns(text);
  try {
    Parser parser(text);
    Builder builder(document.nodes_, columns);
    for (int documents = 0;;) {
      const yaml_event_t* event = parser.next();
      if (event == nullptr) {
        throw syntax_fault(text, columns.position(parser.fault_mark()),
                           columns.position(parser.context_mark()), parser.fault_words());
      }
      if (event->type == YAML_STREAM_END_EVENT) break;
      if (event->type == YAML_DOCUMENT_START_EVENT && ++documents == 2) {
        throw Refused{columns.position(event->start_mark),
                      "a second document starts here; expected one document in a file"};
      }
      builder.take(*event);
    }
    if (document.nodes_.empty() || document.root().kind == Kind::empty) {
      throw Refused{{1, 1}, "the file is empty; expected " + std::string(expected)};
    }
  } catch (const Refused& refused) {
    faults.add(refused.at, refused.what);
    return std::nullopt;
  }
  return document;
}

}  // namespace headgate::policy::yaml
