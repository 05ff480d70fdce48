#include "headgate/store/testing/conformance.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/store/shared_store.h"
#include "headgate/store/table.h"

namespace headgate::store {
namespace {

std::unique_ptr<Store> make(const TableOptions& options) {
  auto table = Table::open(options);
  if (!table) {
    ADD_FAILURE() << table.error();
    std::abort();
  }
  return std::move(*table);
}

constexpr std::size_t room = std::size_t{8} << 20;

std::unique_ptr<Store> in_file() {
  const std::string path = testing::TempDir() + "headgate-conformance-" + std::to_string(getpid());
  auto store = make({.memory = room,
                     .file = path,
                     .wide_share = 16,
                     .ledger_share = 32,
                     .clock = &ClockSource::still()});
  unlink(path.c_str());  // the mapping stays valid
  return store;
}

std::unique_ptr<Store> grown() {
  TableOptions options{
      .memory = room / 16, .wide_share = 16, .ledger_share = 32, .clock = &ClockSource::still()};
  auto table = Table::open(options).value();
  for (const std::size_t part : {8u, 1u}) {
    options.memory = room / part;
    EXPECT_TRUE(table->grow(options));
  }
  return table;
}

// Two tables as one store: keys of an even length are in one, the others in the other.
class TwoTables final : public Store {
 public:
  [[nodiscard]] Instant now() const noexcept override { return store_.now(); }
  using Store::take;
  void take(std::span<Bundle> bundles, std::optional<Instant>& now,
            Completion done) noexcept override {
    std::vector<std::vector<Charge>> charges;
    std::vector<Bundle> mixed;
    for (const Bundle& bundle : bundles) {
      auto& copies = charges.emplace_back(bundle.charges.begin(), bundle.charges.end());
      for (Charge& charge : copies) {
        if (charge.key.size() % 2 == 0) charge.shared = &shared_;
      }
      mixed.push_back({copies, bundle.decisions});
    }
    store_.take(mixed, now, {});
    for (std::size_t i = 0; i < mixed.size(); ++i) bundles[i].admitted = mixed[i].admitted;
    done.call(done.context);
  }

 private:
  static std::unique_ptr<Store> table() {
    return make({.memory = room,
                 .sharing = Sharing::threads,
                 .wide_share = 16,
                 .ledger_share = 32,
                 .clock = &ClockSource::still()});
  }

  const limit::Shared shared_{};
  const std::unique_ptr<Store> remote_ = table();
  const std::unique_ptr<Store> table_ = table();
  SharedStore store_{*remote_, *table_, [](bool) {}};
};

const auto stores = testing::Values(StoreUnderTest{"threads",
                                                   [] {
                                                     return make({.memory = room,
                                                                  .sharing = Sharing::threads,
                                                                  .wide_share = 16,
                                                                  .ledger_share = 32,
                                                                  .clock = &ClockSource::still()});
                                                   }},
                                    StoreUnderTest{"processes",
                                                   [] {
                                                     return make({.memory = room,
                                                                  .sharing = Sharing::processes,
                                                                  .wide_share = 16,
                                                                  .ledger_share = 32,
                                                                  .clock = &ClockSource::still()});
                                                   }},
                                    StoreUnderTest{"file", in_file}, StoreUnderTest{"grown", grown},
                                    StoreUnderTest{"two_tables", []() -> std::unique_ptr<Store> {
                                                     return std::make_unique<TwoTables>();
                                                   }});
constexpr auto name_of = [](const auto& the) { return the.param.name; };

INSTANTIATE_TEST_SUITE_P(Table, StoreConformance, stores, name_of);
INSTANTIATE_TEST_SUITE_P(Table, LawConformance, stores, name_of);

}  // namespace
}  // namespace headgate::store
