// An engine for tests of doors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/server/engine.h"
#include "headgate/store/testing/deferred_store.h"

namespace headgate::server {

// One policy whose quota no test uses up; a unit comes back in 86 s, too late for any test.
constexpr std::string_view plenty = "policies: [{name: burst, quota: 1000000, window: 1000d}]";

inline std::unique_ptr<Engine> open_engine(std::string_view policies = plenty,
                                           const MakeStore& make_store = nullptr) {
  const std::string file =
      testing::TempDir() + "headgate_engine_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(file) << "version: 1\nstore: {table: {memory: 1MiB}}\n" << policies << '\n';
  auto engine = Engine::open(file, {.overrides_file = {}, .make_store = make_store});
  std::filesystem::remove(file);
  return std::move(engine.value());
}

// Returns an engine whose store answers when the test says so.
inline std::unique_ptr<Engine> open_late_engine(std::string_view policies = plenty) {
  return open_engine(
      policies, [](store::Table& table) { return std::make_unique<store::DeferredStore>(table); });
}
// REQUIRES: of open_late_engine().
inline store::DeferredStore& late_store(Engine& engine) {
  return static_cast<store::DeferredStore&>(engine.store());
}

// Does what is ready.
inline void run_ready(boost::asio::io_context& io) {
  io.restart();
  io.poll();
}
// Lets the store answer everything, also what is asked only then.
inline void complete_all(boost::asio::io_context& io, store::DeferredStore& store) {
  run_ready(io);
  while (store.outstanding() > 0) {
    store.complete();
    run_ready(io);
  }
}

}  // namespace headgate::server
