// Compares the bounds of Space-Saving with an exact count.

#include "headgate/view/top_sketch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "headgate/base/siphash.h"
#include "headgate/store/region.h"

namespace headgate::view {
namespace {

std::uint64_t hash_of(const std::string& key) { return table_hash(HashSecret{1, 2}, key).lo; }

void add(TopSketch& sketch, const std::string& key, std::uint64_t weight, std::uint64_t extra = 0) {
  sketch.add(hash_of(key), weight, extra, [&](char* out) {
    const std::size_t length = std::min(key.size(), TopSketch::label_max);
    std::memcpy(out, key.data(), length);
    return length;
  });
}

std::map<std::string, TopSketch::Entry> listed(const TopSketch& sketch) {
  std::map<std::string, TopSketch::Entry> all;
  for (std::size_t i = 0; i < TopSketch::capacity; ++i) {
    if (auto entry = sketch.read(i)) {
      EXPECT_FALSE(all.contains(entry->label)) << entry->label << " is listed twice";
      all.emplace(entry->label, *entry);
    }
  }
  return all;
}

// A sketch and the exact weights.
struct Pair {
  TopSketch sketch;
  std::map<std::string, std::uint64_t> weights;
  std::uint64_t all = 0;

  void add(const std::string& key, std::uint64_t weight) {
    view::add(sketch, key, weight);
    weights[key] += weight;
    all += weight;
  }
  void halve() {
    sketch.halve();
    all = 0;
    for (auto& [key, weight] : weights) all += weight /= 2;
  }
  void check(std::uint64_t rounding) const {
    const auto entries = listed(sketch);
    const std::uint64_t bound = all / TopSketch::capacity + rounding;
    for (const auto& [key, entry] : entries) {
      const std::uint64_t truth = weights.at(key);
      RC_ASSERT(entry.at_least <= truth);
      RC_ASSERT(truth <= entry.at_most);
      RC_ASSERT(entry.at_most - entry.at_least <= bound);
    }
    for (const auto& [key, weight] : weights) {
      if (weight > bound) RC_ASSERT(entries.contains(key));
    }
  }
};

// Skewed: small numbers are common, large ones rare.
rc::Gen<std::string> some_key() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 12), rc::gen::inRange(0, 1 << 12)),
                      [](const std::pair<int, int>& random) {
                        return "key " + std::to_string(random.second >> random.first);
                      });
}

RC_GTEST_PROP(TopSketch, KeepsItsBounds, ()) {
  const auto keys = *rc::gen::container<std::vector<std::string>>(2000, some_key());
  Pair pair;
  for (const std::string& key : keys) {
    const auto weight = key.size() % 3;
    pair.add(key, weight);
  }
  pair.check(0);
}

// The exact weights' sum, rounded down key by key, may be less than the sketch's own, by one for
// every stored key and halving.
RC_GTEST_PROP(TopSketch, KeepsItsBoundsWhenThePastIsHalved, ()) {
  const auto keys = *rc::gen::container<std::vector<std::string>>(1500, some_key());
  Pair pair;
  std::uint64_t halvings = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    pair.add(keys[i], 8);
    if (i % 400 == 399) {
      pair.halve();
      ++halvings;
    }
  }
  pair.check(3 * halvings);
}

TEST(TopSketch, IsExactUntilItIsFull) {
  TopSketch sketch;
  for (std::size_t i = 0; i < TopSketch::capacity; ++i) {
    for (std::size_t n = 0; n <= i; ++n) add(sketch, std::to_string(i), 1, 10);
  }
  const auto entries = listed(sketch);
  ASSERT_EQ(entries.size(), TopSketch::capacity);
  for (const auto& [key, entry] : entries) {
    EXPECT_EQ(entry.at_least, std::stoul(key) + 1);
    EXPECT_EQ(entry.at_most, entry.at_least);
    EXPECT_EQ(entry.extra, 10 * entry.at_least);
  }
}

TEST(TopSketch, ListsAHeavyKeyAmongAMillionOthers) {
  TopSketch sketch;
  for (int i = 0; i < 1'000'000; ++i) {
    add(sketch, std::to_string(i), 1);
    if (i % 100 == 0) add(sketch, "heavy", 1);
  }
  const auto entries = listed(sketch);
  ASSERT_TRUE(entries.contains("heavy"));
  EXPECT_GT(entries.at("heavy").at_least, 0u);
  for (const auto& [key, entry] : entries) {
    EXPECT_LE(entry.at_least, entries.at("heavy").at_least) << key;
  }
}

TEST(TopSketch, ForgetsThePast) {
  TopSketch sketch;
  add(sketch, "old", 1000);
  for (int i = 0; i < 10; ++i) sketch.halve();
  const auto entries = listed(sketch);
  EXPECT_EQ(entries.at("old").at_least, 0u);
  EXPECT_EQ(entries.at("old").at_most, 0u);
}

TEST(TopSketch, StartsAgainWhenCleared) {
  TopSketch sketch;
  for (int i = 0; i < 1000; ++i) add(sketch, std::to_string(i), 1);
  sketch.clear();
  EXPECT_TRUE(listed(sketch).empty());
  for (int i = 999; i >= 500; --i) add(sketch, std::to_string(i), 1);
  EXPECT_EQ(listed(sketch).size(), TopSketch::capacity);
}

TEST(TopSketch, KeepsLabelsWhole) {
  TopSketch sketch;
  const std::string longest(TopSketch::label_max, 'x');
  add(sketch, longest, 1);
  add(sketch, std::string("\0\n<b>", 5), 1);
  EXPECT_TRUE(listed(sketch).contains(longest));
  EXPECT_TRUE(listed(sketch).contains(std::string("\0\n<b>", 5)));
}

// Labels are as long as their first letter says and of that letter alone; each key's weight is 7
// each time. A reader that saw half of a change would see other letters or other weights.
TEST(TopSketch, IsReadWholeWhileItIsWritten) {
  TopSketch sketch;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (unsigned i = 0; !stop.load(); i = i * 5 + 1) {
      const char letter = static_cast<char>('!' + i / 64 % 90);
      std::string key(static_cast<std::size_t>(letter), letter);
      sketch.add(i, 7, 7, [&](char* out) {
        std::memcpy(out, key.data(), key.size());
        return key.size();
      });
    }
  });
  std::size_t read = 0;
  while (read < 20'000) {
    for (std::size_t i = 0; i < TopSketch::capacity; ++i) {
      const auto entry = sketch.read(i);
      if (!entry) continue;
      ++read;
      const char letter = entry->label.front();
      ASSERT_EQ(entry->label, std::string(static_cast<std::size_t>(letter), letter));
      ASSERT_EQ(entry->at_most % 7, 0u);
    }
  }
  stop = true;
  writer.join();
}

// A process that is killed at any instruction leaves a sketch that another one can repair: each
// label still belongs to its hash, and no key is listed twice.
TEST(TopSketch, AnotherProcessSucceedsAKilledOne) {
  struct Shared {
    TopSketch sketch;
    std::atomic<int> added{0};
  };
  const auto region = store::Region::anonymous(sizeof(Shared), store::Sharing::processes);
  ASSERT_TRUE(region);
  auto* const shared = new (region->bytes().data()) Shared;
  TopSketch* const sketch = &shared->sketch;
  for (int round = 0; round < 200; ++round) {
    shared->added = 0;
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      for (int i = round;; ++i) {
        add(*sketch, std::to_string(i % 1000), 1);
        ++shared->added;
      }
    }
    while (shared->added < 500 + round) std::this_thread::yield();
    ASSERT_EQ(kill(writer, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status));

    sketch->repair();
    const auto before = listed(*sketch);
    for (const auto& [label, entry] : before) add(*sketch, label, 1);
    const auto after = listed(*sketch);
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [label, entry] : before) {
      ASSERT_EQ(after.at(label).at_most, entry.at_most + 1) << label;
    }
  }
  for (std::size_t i = 0; i < TopSketch::capacity; ++i) {
    add(*sketch, "successor " + std::to_string(i), 1'000'000);
  }
  EXPECT_EQ(listed(*sketch).size(), TopSketch::capacity) << "no slot is lost";
}

}  // namespace
}  // namespace headgate::view
