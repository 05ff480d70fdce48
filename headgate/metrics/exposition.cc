#include "headgate/metrics/exposition.h"

namespace headgate::metrics {
namespace {

using Type = Exposition::Type;

std::string_view word(Type type) {
  switch (type) {
    case Type::counter:
      return "counter";
    case Type::gauge:
      return "gauge";
    case Type::histogram:
      return "histogram";
  }
  return "untyped";
}

// Escapes backslash, quote and line feed, as the value of a label needs.
void append_escaped(std::string_view value, std::string& out) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

}  // namespace

void Exposition::begin(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help);
  text_.append("\n# TYPE ").append(name).append(" ").append(word(type)).append("\n");
}

void Exposition::sample(Labels labels, std::uint64_t value) { sample({}, labels, value); }

void Exposition::sample(std::string_view suffix, Labels labels, std::uint64_t value) {
  open(suffix, labels);
  text_.append(std::to_string(value)).append("\n");
}

void Exposition::sample_seconds(std::string_view suffix, Labels labels, Nanos time) {
  open(suffix, labels);
  text_.append(decimal_seconds(time)).append("\n");
}

void Exposition::one(std::string_view name, Type type, std::string_view help, std::uint64_t value) {
  begin(name, type, help);
  sample({}, value);
}

// Writes a sample's line up to its value.
void Exposition::open(std::string_view suffix, Labels labels) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const Label& label : labels) {
    (text_ += before).append(label.name).append("=\"");
    append_escaped(label.value, text_);
    text_ += '"';
    before = ',';
  }
  if (labels.size() > 0) text_ += '}';
  text_ += ' ';
}

std::string decimal_seconds(Nanos time) {
  constexpr Nanos second = nanos_per_second;
  std::string out = std::to_string(static_cast<std::uint64_t>(time / second));
  // The leading 1 keeps the zeros behind the point.
  std::string fraction = std::to_string(static_cast<std::uint64_t>(second + time % second));
  fraction.front() = '.';
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (fraction.size() > 1) out += fraction;
  return out;
}

}  // namespace headgate::metrics
