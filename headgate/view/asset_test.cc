// The dashboard's files.

#include "headgate/view/asset.h"

#include <gtest/gtest.h>

namespace headgate::view {
namespace {

TEST(Asset, AreFoundByName) {
  const Asset* page = find_asset("");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->type, "text/html; charset=utf-8");
  EXPECT_TRUE(page->body.starts_with("<!DOCTYPE html>"));
  ASSERT_NE(find_asset("dashboard.js"), nullptr);
  EXPECT_EQ(find_asset("/dashboard.js"), nullptr);
  EXPECT_EQ(find_asset("index.html"), nullptr);
}

// The dashboard works beneath any path.
TEST(Asset, NameNoAbsolutePath) {
  for (const Asset& asset : assets()) {
    for (const char* absolute : {"=\"/", "'/v1", "'/metrics"}) {
      EXPECT_EQ(asset.body.find(absolute), std::string_view::npos) << asset.name << absolute;
    }
  }
}

}  // namespace
}  // namespace headgate::view
