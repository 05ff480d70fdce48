#include "headgate/redis/waiting_parts.h"

#include <gtest/gtest.h>

#include <map>
#include <memory_resource>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "headgate/limit/law.h"

namespace headgate::redis {
namespace {

const limit::Law& window() {
  static const limit::Law law =
      limit::make_law({10, 60 * nanos_per_second}, {.algorithm = limit::Algorithm::fixed_window})
          .value();
  return law;
}

struct Caller final : Part::Owner {
  bool awaits = true;
  [[nodiscard]] bool is_awaiting() const noexcept override { return awaits; }
  void ended(const Part&) override {}
};

// A caller and its part, which has these keys.
struct Asked {
  Caller caller;
  Part part{caller, 0, std::pmr::new_delete_resource()};

  explicit Asked(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) part.add({&window(), key}, key);
  }
};

// Random parts, of which exchanges end in random order.
class WaitingPartsTest : public testing::Test {
 protected:
  std::size_t below(std::size_t end) { return dice_() % end; }

  void ask(const std::vector<std::string>& keys) {
    asked_.push_back(std::make_shared<Asked>(keys));
    const std::size_t number = asked_.size() - 1;
    number_of_[&asked_.back()->part] = number;
    for (const std::string& key : keys) came_[key].push_back(number);
    take(waiting_.add({asked_.back(), &asked_.back()->part}));
  }

  void take(WaitingParts::Next next) {
    for (Batch& batch : next.batches) {
      for (const std::string& key : batch.swapped()) {
        EXPECT_TRUE(in_exchange_.insert(key).second) << key << " is in two exchanges";
      }
      for (const std::shared_ptr<Part>& part : batch.parts()) begin(*part);
      under_way_.push_back(std::move(batch));
    }
    for (const std::shared_ptr<Part>& part : next.unawaited) {
      EXPECT_FALSE(part->is_awaited());
      leave(*part);
    }
  }
  // Of each of its keys, no part that is awaited waits before it.
  void begin(const Part& part) {
    for (const std::string_view key : part.keys) {
      for (const std::size_t before : came_[std::string(key)]) {
        if (before == number_of_[&part]) break;
        EXPECT_FALSE(asked_[before]->caller.awaits) << "overtaken at " << key;
      }
    }
    leave(part);
  }
  void leave(const Part& part) {
    const std::size_t number = number_of_[&part];
    EXPECT_TRUE(left_.insert(number).second) << "taken twice";
    for (const std::string_view key : part.keys) std::erase(came_[std::string(key)], number);
  }

  void end_one() {
    const auto which = under_way_.begin() + static_cast<std::ptrdiff_t>(below(under_way_.size()));
    const Batch batch = std::move(*which);
    under_way_.erase(which);
    for (const std::string& key : batch.swapped()) in_exchange_.erase(key);
    take(waiting_.release(batch.swapped()));
  }

  std::mt19937_64 dice_{7};
  std::vector<std::shared_ptr<Asked>> asked_;
  std::map<const Part*, std::size_t> number_of_;
  std::map<std::string, std::vector<std::size_t>> came_;  // who waits, by key
  std::set<std::size_t> left_;
  std::set<std::string> in_exchange_;
  std::vector<Batch> under_way_;
  WaitingParts waiting_;
};

TEST_F(WaitingPartsTest, EachPartComesOnceAndInTheOrderOfEachOfItsKeys) {
  for (int step = 0; step < 20'000; ++step) {
    switch (below(4)) {
      case 0:
        if (!under_way_.empty()) end_one();
        break;
      case 1:
        if (!asked_.empty()) {
          Asked& one = *asked_[asked_.size() - 1 - below(std::min<std::size_t>(20, asked_.size()))];
          if (below(2) == 0) one.caller.awaits = false;
        }
        break;
      default: {
        std::vector<std::string> keys;
        for (std::size_t n = 1 + below(3); n > 0; --n) keys.push_back(std::to_string(below(12)));
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        std::shuffle(keys.begin(), keys.end(), dice_);
        if (asked_.size() < left_.size() + 100) ask(keys);
      }
    }
    ASSERT_FALSE(HasFailure());
  }
  while (!under_way_.empty()) end_one();
  EXPECT_EQ(left_.size(), asked_.size()) << "some wait for ever";
}

TEST_F(WaitingPartsTest, ThoseThatShareAKeyAreDecidedTogether) {
  for (int client = 0; client < 30; ++client) ask({"client" + std::to_string(client), "everybody"});
  ask({"client7"});
  ask({"another"});
  ASSERT_EQ(under_way_.size(), 2u) << "the first, and the one that shares no key";
  EXPECT_EQ(under_way_[0].parts().size(), 1u);
  in_exchange_.clear();
  take(waiting_.release(std::vector<std::string>(under_way_[0].swapped())));
  EXPECT_EQ(under_way_.back().parts().size(), 30u);
}

TEST_F(WaitingPartsTest, TheKeyOfTwoChargesIsOne) {
  ask({"a", "a"});
  ask({"a", "a"});
  ASSERT_EQ(under_way_.size(), 1u);
  end_one();
  ASSERT_EQ(under_way_.size(), 1u);
  end_one();
  EXPECT_EQ(left_.size(), 2u);
}

}  // namespace
}  // namespace headgate::redis
