#include "headgate/server/receipt.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>

#include "headgate/policy/file/load.h"
#include "headgate/policy/live/override.h"

namespace headgate::server {
namespace {

std::shared_ptr<const policy::PolicySet> load(std::string_view policies) {
  return policy::load_text("version: 1\npolicies: [" + std::string(policies) + "]", "f").value();
}

const auto two = load(
    "{name: slots, algorithm: concurrency, quota: 2, overrides: [{ids: [vip], quota: 9}], "
    "key: [\"header:x\"]}, {name: bytes, quota: 100, window: 1h, cost: response-bytes}");

const TableTime here{.table = 0x123456789, .now = {}, .to_wall = 7'000'000};

std::string receipt_of(std::span<const gate::Due> dues, Instant taken) {
  std::string bytes;
  append_receipt(dues, taken, here, bytes);
  return bytes;
}

const std::string slots_key = "\x05slots\x03vip";
const std::string bytes_key = std::string(
                                  "\x05"
                                  "bytes") +
                              std::string(200, 'k');

std::string both(Instant taken = {123456789}) {
  const auto policies = two->policies();
  const gate::Due dues[] = {
      {&policies[0], &policies[0].grants[1], slots_key, 1, false, 8},
      {&policies[1], &policies[1].grants[0], bytes_key, limit::Quota::cost_max, true}};
  return receipt_of(dues, taken);
}

TEST(Receipt, ReadsWhatWasWritten) {
  for (const Nanos ns : {Nanos{0}, Nanos{123456789}, Nanos{-5}, Nanos{1} << 100}) {
    const std::string bytes = both({ns});
    const auto receipt = Receipt::read(bytes, *two, here);
    ASSERT_TRUE(receipt);
    EXPECT_EQ(receipt->taken(), Instant{ns});
    ASSERT_EQ(receipt->dues().size(), 2u);
    const gate::Due& slots = receipt->dues()[0];
    EXPECT_EQ(slots.policy->name, "slots");
    EXPECT_EQ(slots.grant->quota.units, 9u);
    EXPECT_EQ(slots.key, slots_key);
    EXPECT_FALSE(slots.in_outage);
    EXPECT_EQ(slots.remaining, 8u);
    EXPECT_EQ(receipt->gone(), std::nullopt);
    const gate::Due& late = receipt->dues()[1];
    EXPECT_EQ(late.policy->name, "bytes");
    EXPECT_EQ(late.key, bytes_key);
    EXPECT_EQ(late.cost, limit::Quota::cost_max);
    EXPECT_TRUE(late.in_outage);
  }
}

TEST(Receipt, LeavesOutPoliciesThatAReloadRemoved) {
  const auto other = load("{name: slots, algorithm: concurrency, quota: 2, key: [\"header:x\"]}");
  const std::string bytes = both();
  const auto receipt = Receipt::read(bytes, *other, here);
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->gone(), "bytes");
  ASSERT_EQ(receipt->dues().size(), 1u);
  EXPECT_EQ(receipt->dues()[0].policy->name, "slots");
  EXPECT_EQ(receipt->dues()[0].grant->quota.units, 2u)
      << "the override is gone, too, but its slot is a slot";
}

TEST(Receipt, IsSettledUnderTheQuotaThatItWasTakenFrom) {
  const auto file = load("{name: burst, quota: 10, window: 1h, refund-on: [5xx], key: [path]}");
  const policy::LiveOverride overrides[] = {{"burst", "/a", 1000}, {"burst", "/b", 20}};
  const auto before = file->with(overrides).policies;
  const policy::Policy& burst = before->policies()[0];
  const std::string key =
      "\x05"
      "burst"
      "\x02/b";
  const gate::Due due[] = {{&burst, &burst.grants[2], key, 5, false}};
  const std::string bytes = receipt_of(due, {1});

  // The override before it ends, so that others have other places.
  const auto later = file->with(std::span(overrides).last(1)).policies;
  const auto moved = Receipt::read(bytes, *later, here);
  ASSERT_TRUE(moved);
  ASSERT_EQ(moved->dues().size(), 1u);
  EXPECT_EQ(moved->dues()[0].grant->quota.units, 20u);

  // Its own one ends: five units of another quota would be another share of it.
  const auto other = file->with(std::span(overrides).first(1)).policies;
  const auto gone = Receipt::read(bytes, *other, here);
  ASSERT_TRUE(gone);
  EXPECT_TRUE(gone->dues().empty());
  EXPECT_EQ(gone->gone(), "burst");
}

TEST(Receipt, HasTheRateOfATokenBucket) {
  const auto policies = load("{name: bucket, burst: 5, count: 120, period: 60s, key: []}");
  const policy::Policy& bucket = policies->policies()[0];
  ASSERT_NE(bucket.grants[0].quota.count, 0u);
  const gate::Due due[] = {{&bucket, &bucket.grants[0],
                            "\x06"
                            "bucket",
                            5, false}};
  const std::string bytes = receipt_of(due, {1});
  const auto receipt = Receipt::read(bytes, *policies, here);
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->gone(), std::nullopt);
  ASSERT_EQ(receipt->dues().size(), 1u);
  EXPECT_EQ(receipt->dues()[0].grant, &bucket.grants[0]);

  // Five units of the same window that come back at another rate are another share of it.
  const auto others = load("{name: bucket, quota: 5, window: 2500ms, key: []}");
  EXPECT_EQ(Receipt::read(bytes, *others, here)->gone(), "bucket");
}

TEST(Receipt, IsNotSettledUnderAnotherAlgorithm) {
  const auto before = load("{name: burst, quota: 10, window: 1h, key: []}");
  const policy::Policy& burst = before->policies()[0];
  const gate::Due due[] = {{&burst, &burst.grants[0],
                            "\x05"
                            "burst",
                            5, false}};
  const std::string bytes = receipt_of(due, {1});
  const auto after = load("{name: burst, quota: 10, window: 1h, key: [], algorithm: fixed-window}");
  const auto receipt = Receipt::read(bytes, *after, here);
  ASSERT_TRUE(receipt);
  EXPECT_TRUE(receipt->dues().empty());
  EXPECT_EQ(receipt->gone(), "burst");
}

TEST(Receipt, IsReadByTheClockOfAnotherTable) {
  const TableTime there{.table = 1, .now = {}, .to_wall = 5'000'000};
  EXPECT_EQ(Receipt::read(both({1'000'000}), *two, there)->taken(), Instant{3'000'000});
}

TEST(Receipt, KnowsWhatAnotherServerCountedAloneInAnOutage) {
  const TableTime there{.table = 1, .now = {}, .to_wall = 0};
  EXPECT_FALSE(Receipt::read(both(), *two, here)->is_of_outage_elsewhere());
  EXPECT_TRUE(Receipt::read(both(), *two, there)->is_of_outage_elsewhere());
  const auto removed = load("{name: other, quota: 1, window: 1h}");
  EXPECT_TRUE(Receipt::read(both(), *removed, there)->is_of_outage_elsewhere());
  const policy::Policy& slots = two->policies()[0];
  const gate::Due due[] = {{&slots, &slots.grants[1], slots_key, 1, false, 8}};
  EXPECT_FALSE(Receipt::read(receipt_of(due, {1}), *two, there)->is_of_outage_elsewhere());
}

TEST(Receipt, KnowsThoseOfOtherVersions) {
  EXPECT_TRUE(Receipt::is_of_other_version("\x03 and more"));
  EXPECT_TRUE(Receipt::is_of_other_version("\x05 and more"));
  EXPECT_FALSE(Receipt::is_of_other_version(both()));
  EXPECT_FALSE(Receipt::is_of_other_version("a text"));
  EXPECT_FALSE(Receipt::is_of_other_version(""));
}

TEST(Receipt, RefusesOtherBytes) {
  EXPECT_FALSE(Receipt::read("", *two, here));
  EXPECT_FALSE(Receipt::read("\x01\x01\x01", *two, here));
  const std::string whole = both();
  const std::size_t head = receipt_of({}, {123456789}).size();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto receipt = Receipt::read(whole.substr(0, size), *two, here);
    EXPECT_TRUE(!receipt || size == head || receipt->dues().size() == 1) << size;
  }
  std::string many = receipt_of({}, {});
  for (unsigned i = 0; i <= policy::policies_per_request_max; ++i) many += std::string(11, '\0');
  EXPECT_FALSE(Receipt::read(many, *two, here));
  rc::check([](const std::string& bytes) {
    const std::string any = '\x04' + bytes;
    static_cast<void>(Receipt::read(any, *two, here));
  });
}

}  // namespace
}  // namespace headgate::server
