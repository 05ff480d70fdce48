// For any bytes, loading a policy file returns policies or faults.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

void expect_answer(const std::string& yaml) {
  const Loaded loaded = load_text(yaml, "f");
  if (loaded) {
    for (const Policy& policy : (*loaded)->policies()) RC_ASSERT(!policy.grants.empty());
    return;
  }
  RC_ASSERT(!loaded.error().empty());
  const Fault* before = nullptr;
  for (const Fault& fault : loaded.error()) {
    RC_ASSERT(!fault.what.empty());
    for (const char c : fault.what) RC_ASSERT(c >= 0x20 && c <= 0x7e);
    if (before != nullptr) {
      RC_ASSERT(std::pair(before->line, before->column) <= std::pair(fault.line, fault.column));
    }
    before = &fault;
  }
}

RC_GTEST_PROP(LoadProperty, AnyBytes, (const std::string& yaml)) { expect_answer(yaml); }

RC_GTEST_PROP(LoadProperty, AnyText, ()) {
  expect_answer(*rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("ab1:-[]{},&*!|>'\"%@`?# \n\n\t~<="))));
}

constexpr std::string_view good = R"(version: 1
client-address: {trusted-proxies: [127.0.0.1], ipv6-prefix: 56}
fields: [ratelimit]
store: {table: {memory: 1MiB}}
policies:
  - name: burst
    quota: 100
    window: 1m
    key: [address, "header:x-key"]
    match: [{path: "/v1/*", method: [GET]}]
    denied: {penalty: 30s}
    refund-on: [5xx, 304]
    overrides: [{ids: [[10.0.0.2, a]], quota: unlimited}]
)";

RC_GTEST_PROP(LoadProperty, AGoodFileWithAFewBytesChanged, ()) {
  std::string yaml(good);
  const auto changes = *rc::gen::inRange(1, 5);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, yaml.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        yaml.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
        break;
      case 1:
        yaml.insert(at, 1, *rc::gen::elementOf(std::string(":-[]{},&*!|>'\"\n 9~")));
        break;
      default:
        yaml[at] = *rc::gen::elementOf(std::string(":-[]{},&*!|>'\"\n 9~"));
        break;
    }
    if (yaml.empty()) break;
  }
  expect_answer(yaml);
}

TEST(LoadProperty, TheGoodFileIsGood) { EXPECT_TRUE(load_text(good, "f")); }

}  // namespace
}  // namespace headgate::policy
