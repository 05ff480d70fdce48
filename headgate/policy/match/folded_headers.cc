#include "headgate/policy/match/folded_headers.h"

#include <algorithm>

#include "headgate/policy/match/request_value.h"

namespace headgate::policy {

void FoldedHeaders::clear() noexcept {
  constexpr std::size_t kept_max = 2048;  // [bytes] more than the values of usual requests
  headers_.clear();
  text_.clear();
  ends_.clear();
  if (text_.capacity() > kept_max) std::string().swap(text_);
  if (ends_.capacity() * sizeof(std::size_t) > kept_max) std::vector<std::size_t>().swap(ends_);
}

FoldedHeaders::Header FoldedHeaders::find(const Headers& headers, std::string_view name) {
  const auto known = std::find_if(headers_.begin(), headers_.end(),
                                  [&](const Header& header) { return header.name == name; });
  if (known != headers_.end()) return *known;
  const std::size_t begin = ends_.size();
  read(headers, name);
  return headers_.emplace_back(Header{name, begin, ends_.size()});
}

void FoldedHeaders::read(const Headers& headers, std::string_view name) {
  const std::size_t begin = text_.size();
  const std::size_t first = ends_.size();
  std::size_t lines = 0;
  for (; const auto line = headers.value(name, lines); ++lines) {
    append_line(name, *line, text_);
    ends_.push_back(text_.size());
  }
  if (lines < 2) return;
  const std::size_t joined = text_.size();
  for (std::size_t i = 0, from = begin; i < lines; from = ends_[first + i++]) {
    const std::size_t size = ends_[first + i] - from;
    if (size == 0) continue;
    if (text_.size() > joined) text_ += ", ";
    text_.append(text_, from, size);
  }
  ends_.push_back(text_.size());
}

}  // namespace headgate::policy
