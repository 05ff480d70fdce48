// Policies and headers for the gate's tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/policy/file/load.h"
#include "headgate/policy/request.h"

namespace headgate::gate {

// The policies of a good file.
inline std::shared_ptr<const policy::PolicySet> loaded(const std::string& text) {
  auto policies = policy::load_text("version: 1\n" + text, "test.yaml");
  if (!policies) {
    for (const auto& fault : policies.error()) ADD_FAILURE() << fault.text();
    std::abort();
  }
  return *policies;
}

// Headers of one line each.
class FakeHeaders final : public policy::Headers {
 public:
  std::optional<std::string_view> line(std::string_view name,
                                       std::size_t nth) const noexcept override {
    const auto found = lines.find(std::string(name));
    if (found == lines.end() || nth > 0) return std::nullopt;
    return found->second;
  }
  std::map<std::string, std::string> lines;
};

}  // namespace headgate::gate
