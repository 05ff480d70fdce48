#include "headgate/store/testing/conformance.h"

#include <cstdlib>
#include <string>

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

INSTANTIATE_TEST_SUITE_P(
    Table, StoreConformance,
    testing::Values(StoreUnderTest{"threads",
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
                    StoreUnderTest{"file", in_file}, StoreUnderTest{"grown", grown}),
    [](const auto& the) { return the.param.name; });

}  // namespace
}  // namespace headgate::store
