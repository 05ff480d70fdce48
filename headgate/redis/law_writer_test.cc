// Laws as text: what is written is read as the same law.

#include "headgate/redis/law_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headgate/limit/testing/random_parameters.h"
#include "headgate/redis/law_reader.h"

namespace headgate::redis {
namespace {

constexpr Nanos second = nanos_per_second;

TEST(LawText, IsReadAsTheSameLaw) {
  limit::RandomParameters dice;
  std::vector<int> laws(std::variant_size_v<limit::Law>);
  for (int round = 0; round < 20'000; ++round) {
    const limit::Parameters given = dice.next();
    const auto law = limit::make_law(given.quota, given.terms);
    if (!law) continue;
    ++laws[law->index()];
    const std::string text = law_text(*law);
    const auto read = read_law(text);
    ASSERT_TRUE(read) << text << ": " << read.error();
    ASSERT_EQ(read->index(), law->index()) << text;
    ASSERT_EQ(limit::parameters_of(*read), limit::parameters_of(*law)) << text;
    ASSERT_EQ(law_text(*read), text);
  }
  for (const int count : laws) EXPECT_GT(count, 100);
}

TEST(LawText, IsWhatPeopleWrite) {
  const auto text = [](const limit::Quota& quota, const limit::Terms& terms) {
    return law_text(limit::make_law(quota, terms).value());
  };
  using limit::Algorithm;
  EXPECT_EQ(text({100, 60 * second}, {}), "100/1m");
  EXPECT_EQ(text({20, second / 2, 40, second}, {}), "20/1s,refill=1/25ms") << "the same rate";
  EXPECT_EQ(
      text({5000, 86'400 * second},
           {.algorithm = Algorithm::fixed_window, .aligned = true, .offset = 6 * 3600 * second}),
      "fixed-window:5000/1d,aligned,offset=6h");
  EXPECT_EQ(text({10, 0}, {.algorithm = Algorithm::concurrency, .log = 10, .lease = 30 * second}),
            "concurrency:10,log=10,lease=30s");
  EXPECT_EQ(text({0, 3 * second}, {}), "0/1s") << "a quota of 0 has no window to keep";
  const auto bucket = read_law("20/500ms,refill=40/1s");
  ASSERT_TRUE(bucket);
  EXPECT_EQ(law_text(*bucket), "20/1s,refill=1/25ms") << "clients see whole seconds";
}

TEST(LawText, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> faults{
      {"", "the quota is out of range"},
      {"x/1s", "the quota is out of range"},
      {"1000000000000000/1s", "the quota is out of range"},
      {"10", "the window is no duration"},
      {"10/", "the window is no duration"},
      {"10/0s", "the window is no duration"},
      {"10/1x", "the window is no duration"},
      {"10/1000000000000000s", "the window is no duration"},
      {"gcra:10/1s", "the algorithm is unknown"},
      {"concurrency:10/1s", "concurrency has no window"},
      {"10/1s,refill=0/1s", "refill is no rate"},
      {"10/1s,reset=never", "reset is unknown"},
      {"10/1s,log=0", "log is out of range"},
      {"10/1s,penalty=x", "a term is no duration"},
      {"10/1s,nonsense", "a term is unknown"},
      {"10/1s,", ""},
      {"moving-window:10/1s,denied=spend", "this algorithm cannot charge denied requests"},
      {"exponential:999999999999999/999999999999999s,penalty=1s", "this algorithm cannot"},
      {"fixed-window:10/1s,aligned,offset=2s", "the law is out of range"},
  };
  for (const auto& [text, says] : faults) {
    const auto read = read_law(text);
    if (says.empty()) {
      EXPECT_TRUE(read) << text;
      continue;
    }
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().substr(0, says.size()), says) << text;
  }
}

}  // namespace
}  // namespace headgate::redis
