// Two different partitions never have the same store key.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/policy/file/load.h"
#include "headgate/policy/match/component.h"
#include "headgate/policy/match/counted.h"

namespace headgate::policy {
namespace {

using Parts = std::vector<std::string>;

class NumberedHeaders final : public Headers {
 public:
  explicit NumberedHeaders(const Parts& parts) : parts_(parts) {}
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    const auto i = static_cast<std::size_t>(name[1] - '0');
    if (nth > 0 || i >= parts_.size()) return std::nullopt;
    return parts_[i];
  }

 private:
  const Parts& parts_;
};

// The query arguments h0, h1 and so on. Arguments are the parts of keys that may have any bytes.
std::string query_of(const Parts& parts) {
  std::string query;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    query += (i > 0 ? "&h" : "h") + std::to_string(i) + "=" + parts[i];
  }
  return query;
}

// Policies with different names and different numbers of components.
std::shared_ptr<const PolicySet> policies() {
  const Loaded loaded = load_text(R"(version: 1
policies:
  - {name: a, quota: 1, window: 1, key: [query:h0, query:h1, query:h2]}
  - {name: ab, quota: 1, window: 1, key: [query:h0, query:h1]}
  - {name: "a\"", quota: 1, window: 1, key: [query:h0]}
  - {name: b, quota: 1, window: 1, key: []}
)",
                                  "test.yaml");
  return loaded.value();
}

// Parts of few different characters, including those that encodings treat specially.
rc::Gen<Parts> parts_gen() {
  using namespace std::string_literals;
  const auto part =
      rc::gen::mapcat(rc::gen::element<std::size_t>(0, 1, 2, 3, 126, 130), [](auto n) {
        return rc::gen::container<std::string>(
            n, rc::gen::element('a', 'b', ',', '\\', '\3', '\1', '\2'));
      });
  return rc::gen::container<Parts>(3, part);
}

struct Keyed {
  std::string policy;
  Parts parts;
  std::string key;
  std::string partition;
};

std::vector<Keyed> keys_of(const PolicySet& set, const Parts& parts) {
  const NumberedHeaders headers(parts);
  const std::string query = query_of(parts);
  Request request;
  request.headers = &headers;
  request.query = query;
  Scratch scratch;
  std::vector<Keyed> all;
  const std::array<std::size_t, 4> counts{3, 2, 1, 0};
  for (const Match& match : set.match(request, scratch)) {
    const auto count = static_cast<std::ptrdiff_t>(counts.at(match.policy->index));
    all.push_back({match.policy->name, Parts(parts.begin(), parts.begin() + count),
                   std::string(match.key), std::string(match.partition)});
  }
  return all;
}

RC_GTEST_PROP(Key, DifferentPartsAreDifferentKeys, ()) {
  static const auto set = policies();
  std::vector<Keyed> all = keys_of(*set, *parts_gen());
  const std::vector<Keyed> others = keys_of(*set, *parts_gen());
  all.insert(all.end(), others.begin(), others.end());
  for (const Keyed& a : all) {
    for (const Keyed& b : all) {
      const bool same = a.policy == b.policy && a.parts == b.parts;
      RC_ASSERT((a.key == b.key) == same);
      if (a.policy == b.policy) RC_ASSERT((a.partition == b.partition) == same);
    }
  }
}

RC_GTEST_PROP(Key, TheReadableTextGivesTheSameKey, ()) {
  static const auto set = policies();
  std::string text;
  for (const Keyed& keyed : keys_of(*set, *parts_gen())) {
    const auto match = set->named(keyed.policy, keyed.partition, 1, text);
    RC_ASSERT(match && match->key == keyed.key);
    RC_ASSERT(match->partition == keyed.partition);
  }
}

// Policies with the same key, which read it once, and others between them.
std::shared_ptr<const PolicySet> relatives() {
  const Loaded loaded = load_text(R"(version: 1
policies:
  - {name: a, quota: 1, window: 1, key: [header:h0, header:h1], match: [{header: {h2: "*a*"}}]}
  - name: exempt
    quota: 1
    window: 1
    key: [header:h0]
    overrides: [{ids: [a], quota: unlimited}, {ids: [b], quota: 7}]
  - {name: a1, quota: 1, window: 1, key: [header:h0]}
  - {name: ab, quota: 1, window: 1, key: [header:h0, header:h1]}
  - {name: all, quota: 1, window: 1, key: []}
  - {name: off, quota: 1, window: 1, key: [header:h0], mode: off}
  - {name: some, quota: 1, window: 1, key: [], match: [{header: {h1: "b*"}}]}
  - {name: a2, quota: 1, window: 1, key: [header:h0], overrides: [{ids: [b], quota: 8}]}
  - {name: abc, quota: 1, window: 1, key: [header:h0, header:h1, header:h2]}
  - {name: ab2, quota: 1, window: 1, key: [header:h0, header:h1]}
)",
                                  "test.yaml");
  return loaded.value();
}

RC_GTEST_PROP(Key, IsTheSameWithOtherPoliciesAndAlone, ()) {
  static const auto set = relatives();
  const Parts parts = *parts_gen();
  const NumberedHeaders headers(parts);
  Request request;
  request.headers = &headers;
  Scratch scratch;
  Scratch lone_scratch;
  const std::span<const Match> matches = set->match(request, scratch);
  auto match = matches.begin();
  for (const Policy& policy : set->policies()) {
    const auto alone = set->only(policy.index);
    for (const Match& lone : alone->match(request, lone_scratch)) {
      RC_ASSERT(match != matches.end() && match->policy->index == policy.index);
      RC_ASSERT(match->key == lone.key);
      RC_ASSERT(match->partition == lone.partition);
      RC_ASSERT(match->grant->quota == lone.grant->quota);
      ++match;
    }
  }
  RC_ASSERT(match == matches.end());
}

RC_GTEST_PROP(Key, LengthsOfAnySizeAreRead, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::size_t>>(
      2, rc::gen::element<std::size_t>(0, 1, 127, 128, 129, 16383, 16384, 20000));
  std::string key;
  for (const std::size_t size : sizes) {
    append_counted(key, [&](std::string& out) { out.append(size, 'x'); });
  }
  const std::string expected = std::string(sizes[0], 'x') + "," + std::string(sizes[1], 'x');
  std::string readable;
  append_readable(key, readable);
  RC_ASSERT(readable == expected);
}

TEST(Counted, IsTakenOneByOne) {
  const std::string text = "\3abc" + std::string("\xac\x02", 2) + std::string(300, 'x') + "\x05zz";
  std::string_view parts = text;
  EXPECT_EQ(take_counted(parts), "abc");
  EXPECT_EQ(take_counted(parts), std::string(300, 'x'));
  EXPECT_EQ(take_counted(parts), std::nullopt) << "longer than what is there";
  parts = "";
  EXPECT_EQ(take_counted(parts), std::nullopt);
}

}  // namespace
}  // namespace headgate::policy
