// An engine for tests of doors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "headgate/server/engine.h"

namespace headgate::server {

// Returns an engine with one policy, `burst`, whose quota no test uses up.
inline std::unique_ptr<Engine> open_engine() {
  const std::string file =
      testing::TempDir() + "headgate_engine_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(file) << "version: 1\nstore: {table: {memory: 1MiB}}\n"
                         "policies: [{name: burst, quota: 1000000, window: 1d}]\n";
  auto engine = Engine::open(file);
  std::filesystem::remove(file);
  return std::move(engine.value());
}

}  // namespace headgate::server
