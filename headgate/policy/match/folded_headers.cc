#include "headgate/policy/match/folded_headers.h"

#include <algorithm>

#include "headgate/policy/match/request_value.h"

namespace headgate::policy {

std::span<const std::string> FoldedHeaders::values(const Headers& headers, std::string_view name) {
  const auto end = headers_.begin() + static_cast<std::ptrdiff_t>(known_);
  auto header =
      std::find_if(headers_.begin(), end, [&](const Header& one) { return one.name == name; });
  if (header == end) {
    if (end == headers_.end()) headers_.emplace_back();
    header = headers_.begin() + static_cast<std::ptrdiff_t>(known_);
    header->name = name;
    read(headers, *header);
    ++known_;
  }
  return std::span(header->values).first(header->count);
}

std::string& FoldedHeaders::Header::add() {
  if (count == values.size()) values.emplace_back();
  return values[count++];
}

void FoldedHeaders::read(const Headers& headers, Header& header) {
  header.count = 0;
  while (const auto line = headers.value(header.name, header.count)) fold_line(*line, header.add());
  const std::size_t lines = header.count;
  if (lines < 2) return;
  std::string& all = header.add();
  all.clear();
  for (const std::string& line : std::span(header.values).first(lines)) {
    if (line.empty()) continue;
    if (!all.empty()) all += ", ";
    all += line;
  }
}

}  // namespace headgate::policy
