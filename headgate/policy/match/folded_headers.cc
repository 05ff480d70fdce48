#include "headgate/policy/match/folded_headers.h"

#include <algorithm>

#include "headgate/policy/match/request_value.h"

namespace headgate::policy {

std::span<const std::string> FoldedHeaders::lines(const Headers& headers, std::string_view name) {
  const auto end = headers_.begin() + static_cast<std::ptrdiff_t>(known_);
  auto header = std::find_if(headers_.begin(), end, [&](const Header& one) { return one.name == name; });
  if (header == end) {
    if (end == headers_.end()) headers_.emplace_back();
    header = headers_.begin() + static_cast<std::ptrdiff_t>(known_);
    header->name = name;
    read(headers, *header);
    ++known_;
  }
  return std::span(header->lines).first(header->count);
}

void FoldedHeaders::read(const Headers& headers, Header& header) {
  header.count = 0;
  while (const auto line = headers.value(header.name, header.count)) {
    if (header.count == header.lines.size()) header.lines.emplace_back();
    fold_line(*line, header.lines[header.count++]);
  }
}

}  // namespace headgate::policy
