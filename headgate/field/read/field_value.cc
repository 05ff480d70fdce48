#include "headgate/field/read/field_value.h"

namespace headgate::field {

FieldValue::FieldValue(std::span<const HeaderLine> headers, std::string_view lower_name)
    : headers_(headers), name_(lower_name) {
  for (const HeaderLine& line : headers) {
    if (!is_named(line, lower_name)) continue;
    ++lines_;
    if (lines_ == 1) {
      first_ = line.value;
      continue;
    }
    if (lines_ == 2) joined_ = first_;
    joined_ += separator;
    joined_ += line.value;
  }
}

FieldValue::Position FieldValue::position(std::size_t offset) const noexcept {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    if (!is_named(headers_[i], name_)) continue;
    ++seen;
    const std::size_t size = headers_[i].value.size();
    if (offset <= size || seen == lines_) return {i, offset};
    offset -= size;
    offset -= offset < separator.size() ? offset : separator.size();
  }
  return {0, offset};
}

}  // namespace headgate::field
