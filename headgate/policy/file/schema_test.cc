// The schema names what the reader's tables have. tests/cli/test_schema.py compares their verdicts.
#include "headgate/policy/file/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "headgate/policy/file/keys.h"

namespace headgate::policy {
namespace {

std::set<std::string> keys_of(const nlohmann::json& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map.at("properties").items()) {
    EXPECT_TRUE(value.contains("description")) << key;
    keys.insert(key);
  }
  return keys;
}

template <std::size_t n>
std::set<std::string> offered(const Key (&keys)[n]) {
  std::set<std::string> names;
  for (const Key& key : keys) {
    if (key.available) names.emplace(key.name);
  }
  return names;
}

TEST(Schema, HasEveryKeyOfTheReadersTables) {
  const auto file = nlohmann::json::parse(schema());
  const auto& top = file.at("properties");
  const auto& policy = top.at("policies").at("items");
  const auto& in_a_policy = policy.at("properties");
  EXPECT_EQ(keys_of(file), offered(file_keys));
  EXPECT_EQ(keys_of(top.at("client-address")), offered(client_address_keys));
  EXPECT_EQ(keys_of(top.at("cors")), offered(cors_keys));
  EXPECT_EQ(keys_of(top.at("decisions")), offered(decisions_keys));
  EXPECT_EQ(keys_of(top.at("boulder")), offered(boulder_keys));
  EXPECT_EQ(keys_of(top.at("envoy").at("anyOf")[0].at("anyOf")[1]), offered(envoy_keys));
  const auto& store = top.at("store").at("anyOf")[1];
  EXPECT_EQ(keys_of(store), offered(store_keys));
  EXPECT_EQ(keys_of(store.at("properties").at("table")), offered(table_keys));
  EXPECT_EQ(keys_of(policy), offered(policy_keys));
  for (const auto& conditions : {in_a_policy.at("match"), top.at("allow")}) {
    const auto& entry = conditions.at("anyOf")[0];
    EXPECT_EQ(keys_of(entry), offered(match_keys));
    std::set<std::string> refuted = offered(match_keys);
    refuted.erase("not");
    EXPECT_EQ(keys_of(entry.at("properties").at("not").at("anyOf")[0]), refuted);
  }
  EXPECT_EQ(keys_of(in_a_policy.at("overrides").at("items")), offered(override_keys));
  EXPECT_EQ(keys_of(in_a_policy.at("cost").at("anyOf")[2]), offered(cost_keys));
  const auto& reserves = in_a_policy.at("cost").at("anyOf")[2].at("properties");
  EXPECT_EQ(keys_of(reserves.at("reserve").at("anyOf")[1]), offered(reserve_keys));
  EXPECT_EQ(keys_of(reserves.at("settle").at("anyOf")[1]), offered(settle_keys));
  EXPECT_EQ(keys_of(in_a_policy.at("denied").at("anyOf")[1]), offered(denied_keys));
}

}  // namespace
}  // namespace headgate::policy
