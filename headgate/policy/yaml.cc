#include "headgate/policy/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <istream>
#include <streambuf>
#include <utility>

#include "headgate/policy/spelling.h"

namespace headgate::policy::yaml {
namespace {

// Leaves the parser's callbacks; never leaves this file.
struct Refused {
  Place at;
  std::string what;
};

Place place(const YAML::Mark& mark) {
  if (mark.is_null()) return {1, 1};
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

// Builds the tree. A shared node behind aliases stays one node: nothing is copied.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::deque<Node>& nodes) : nodes_(nodes) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    attach(make(Kind::empty, mark, "", anchor));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node& node = make(Kind::scalar, mark, tag, anchor);
    node.text = value;
    attach(node);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (anchor >= anchors_.size() || anchors_[anchor] == nullptr) {
      throw Refused{place(mark), "an alias of nothing; expected an anchor of that name before it"};
    }
    Node& node = *anchors_[anchor];
    if (!node.complete) {
      throw Refused{place(mark),
                    "an alias inside of what it names; expected an anchor that has ended"};
    }
    weigh(node.weight, place(mark));
    attach(node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(make(Kind::list, mark, tag, anchor));
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(make(Kind::map, mark, tag, anchor));
  }
  void OnMapEnd() override { end(); }

 private:
  Node& make(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const Place at = place(mark);
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refused{at, "tag " + in_quotes(tag) + " has no meaning here; expected a plain value"};
    }
    weigh(1, at);
    Node& node = nodes_.emplace_back();
    node.kind = kind;
    node.at = at;
    if (anchor != YAML::NullAnchor) {
      if (anchor >= anchors_.size()) anchors_.resize(anchor + 1);
      anchors_[anchor] = &node;
    }
    return node;
  }

  void weigh(std::uint32_t weight, Place at) {
    total_ += weight;
    if (total_ > nodes_max) {
      throw Refused{at, "too many values; expected at most " + std::to_string(nodes_max) +
                            ", each alias counted as what it names"};
    }
  }

  void begin(Node& node) {
    node.complete = false;
    open_.push_back(&node);
  }

  void end() {
    Node& node = *open_.back();
    open_.pop_back();
    node.complete = true;
    attach(node);
  }

  void attach(Node& node) {
    if (open_.empty()) return;
    Node& parent = *open_.back();
    const bool is_value = parent.kind == Kind::map && parent.children.size() % 2 == 1;
    if (is_value && node.kind == Kind::empty) node.at = parent.children.back()->at;
    parent.weight += node.weight;
    parent.children.push_back(&node);
  }

  std::deque<Node>& nodes_;
  std::vector<Node*> open_;
  std::vector<Node*> anchors_;
  std::uint64_t total_ = 0;
};

// Reads bytes that stay where they are.
class View : public std::streambuf {
 public:
  explicit View(std::string_view text) {
    char* const begin = const_cast<char*>(text.data());  // streambuf's interface; never written
    setg(begin, begin, begin + text.size());
  }
};

// Length of the well-formed UTF-8 sequence that `text` starts with (RFC 3629), or 0.
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

// Text that any editor shows as it is: UTF-8 without control characters.
bool is_text(std::string_view text, Faults& faults) {
  Place at{1, 1};
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

// A tab where the line's indentation should be: the usual cause of syntax errors that name
// something else.
std::optional<Place> tab_indent(std::string_view text, std::uint32_t last_line) {
  for (std::uint32_t line = 1; line <= last_line && !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view content = text.substr(0, end);
    const std::size_t first = content.find_first_not_of(' ');
    if (first != std::string_view::npos && content[first] == '\t') {
      return Place{line, static_cast<std::uint32_t>(first + 1)};
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return std::nullopt;
}

// The parser's words for the mistakes that people make, in the words of this file format.
std::string syntax_fault(const std::string& words) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"bad file", "nested too deeply; expected lists and maps of a few levels"},
      {"illegal map value",
       "a ':' that starts no value; expected 'key: value' alone on its line, or "
       "quotes around a text with ': '"},
      {"end of map not found",
       "a line that continues no map; expected 'key: value', in the column of the keys above"},
      {"end of sequence not found",
       "a line that continues no list; expected '- item', in the column of the items above"},
      {"end of map flow not found", "a map that is not closed; expected ',' or '}'"},
      {"end of sequence flow not found", "a list that is not closed; expected ',' or ']'"},
      {"illegal flow end", "a bracket that closes nothing; expected its opening before it"},
      {"the referenced anchor is not defined",
       "an alias of nothing; expected an anchor of that name before it"}};
  for (const auto& [theirs, ours] : known) {
    if (words.starts_with(theirs)) return std::string(ours);
  }
  return "not well-formed YAML (" + words + "); expected a map with 'version' and 'policies'";
}

// Whether anything but the end follows.
class Ignored : public YAML::EventHandler {
 public:
  explicit Ignored(Place& start) : start_(start) {}
  void OnDocumentStart(const YAML::Mark& mark) override { start_ = place(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  Place& start_;
};

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

std::optional<Document> Document::parse(std::string_view text, Faults& faults) {
  if (text.size() > bytes_max) {
    faults.add({},
               "larger than " + std::to_string(bytes_max >> 20) + " MiB; expected a smaller file");
    return std::nullopt;
  }
  if (!is_text(text, faults)) return std::nullopt;
  Document document;
  try {
    View view(text);
    std::istream stream(&view);
    YAML::Parser parser(stream);
    Builder builder(document.nodes_);
    if (!parser.HandleNextDocument(builder) || document.root().kind == Kind::empty) {
      faults.add({1, 1}, "the file is empty; expected 'version: 1' and 'policies:'");
      return std::nullopt;
    }
    Place second;
    Ignored ignored(second);
    if (parser.HandleNextDocument(ignored)) {
      faults.add(second, "a second document starts here; expected one document in a file");
      return std::nullopt;
    }
  } catch (const Refused& refused) {
    faults.add(refused.at, refused.what);
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    const Place at = place(e.mark);
    if (const auto tab = tab_indent(text, at.line)) {
      faults.add(*tab, "a tab in the indentation; expected spaces");
    } else {
      faults.add(at, syntax_fault(e.msg));
    }
    return std::nullopt;
  }
  return document;
}

}  // namespace headgate::policy::yaml
