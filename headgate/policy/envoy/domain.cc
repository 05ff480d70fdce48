#include "headgate/policy/envoy/domain.h"

#include <utility>

#include "headgate/policy/match/component.h"
#include "headgate/policy/match/counted.h"

namespace headgate::policy {
namespace {

void append_part(std::string_view part, std::string& parts) {
  append_counted(parts, [&](std::string& out) { out.append(part); });
}

}  // namespace

std::optional<EnvoyDomain::Node> EnvoyDomain::add(Node parent, std::string_view key,
                                                  std::string_view value) {
  const auto node = static_cast<Node>(nodes_.size());
  Branch& branch = nodes_[parent].keys.try_emplace(std::string(key)).first->second;
  if (value.empty()) {
    if (branch.alone) return std::nullopt;
    branch.alone = node;
  } else {
    if (!branch.exact.try_emplace(std::string(value), node).second) return std::nullopt;
    if (value.find('*') != std::string_view::npos) branch.patterns.push_back({Glob(value), node});
  }
  nodes_.emplace_back().pattern = value;
  return node;
}

std::optional<EnvoyDomain::Node> EnvoyDomain::step(Node from, const DescriptorEntry& entry) const {
  const auto& keys = nodes_[from].keys;
  const auto found = keys.find(entry.key);
  if (found == keys.end()) return std::nullopt;
  const Branch& branch = found->second;
  if (const auto exact = branch.exact.find(entry.value); exact != branch.exact.end()) {
    return exact->second;
  }
  for (const Pattern& pattern : branch.patterns) {
    if (pattern.glob.matches(entry.value)) return pattern.node;
  }
  return branch.alone;
}

std::uint32_t EnvoyDomain::find(std::span<const DescriptorEntry> descriptor,
                                std::string& parts) const {
  const std::size_t begin = parts.size();
  Node node = root;
  for (const DescriptorEntry& entry : descriptor) {
    const auto next = step(node, entry);
    if (!next) {
      parts.resize(begin);
      return 0;
    }
    node = *next;
    append_part(entry.key, parts);
    append_part(nodes_[node].shares ? nodes_[node].pattern : entry.value, parts);
  }
  if (nodes_[node].grant == 0) parts.resize(begin);
  return nodes_[node].grant;
}

void append_entries(std::span<const DescriptorEntry> descriptor, std::string& parts) {
  for (const DescriptorEntry& entry : descriptor) {
    append_part(entry.key, parts);
    append_part(entry.value, parts);
  }
}

void append_readable(std::span<const DescriptorEntry> descriptor, std::string& out) {
  const auto append_escaped = [&out](std::string_view text, std::string_view marks) {
    for (const char c : text) {
      if (marks.find(c) != std::string_view::npos) out.push_back('\\');
      out.push_back(c);
    }
  };
  for (std::size_t i = 0; i < descriptor.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_escaped(descriptor[i].key, ",=\\");
    out.push_back('=');
    append_escaped(descriptor[i].value, ",\\");
  }
}

std::vector<DescriptorEntry> split_descriptor(std::string_view text, std::string& buffer) {
  buffer.clear();
  buffer.reserve(text.size());  // the views point into it: it must not be reallocated
  std::vector<DescriptorEntry> entries(1);
  std::size_t begin = 0;
  bool in_value = false;
  const auto end_entry = [&] {
    const auto part = std::string_view(buffer).substr(begin);
    (in_value ? entries.back().value : entries.back().key) = part;
    begin = buffer.size();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      buffer.push_back(text[++i]);
    } else if (text[i] == '=' && !in_value) {
      end_entry();
      in_value = true;
    } else if (text[i] == ',') {
      end_entry();
      in_value = false;
      entries.emplace_back();
    } else {
      buffer.push_back(text[i]);
    }
  }
  end_entry();
  return entries;
}

}  // namespace headgate::policy
