// The main thread of a server is short of memory.

#include "headgate/server/server.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "headgate/base/testing/allocations.h"
#include "headgate/base/testing/temporary_directory.h"
#include "headgate/server/http/door.h"
#include "headgate/server/unix_time.h"

namespace headgate::server {
namespace {

// While it lives, this thread and those that it starts do not get these signals.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGHUP, SIGTERM}) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

class ServerTest : public testing::Test {
 protected:
  void write(int quota) const {
    std::ofstream(config_) << "version: 1\nstore: {table: {memory: 1MiB}}\ndecisions: {file: "
                           << directory_.file("decisions") << "}\n"
                           << "policies: [{name: burst, quota: " << quota << ", window: 60s}]\n";
  }

  [[nodiscard]] std::unique_ptr<Engine> open() const {
    return Engine::open(config_, {.overrides_file = overrides_}).value();
  }

  // Another process has made an override.
  void change_overrides() const {
    ASSERT_TRUE(open()->set_override({"burst", "10.0.0.2", 50}, unix_now()));
  }

  // Runs a server that gets SIGHUP, and SIGTERM as soon as the reload is over. Returns whether it
  // has served.
  bool serve(Engine& engine) const {
    ServerOptions options;
    options.door.threads = 1;
    options.listening.push_back(
        {DoorKind::http, net::Endpoint::parse("127.0.0.1:0").value(), make_http_door});
    bool has_served = false;
    std::thread main([&] {
      try {
        has_served = run_server(engine, std::move(options)).has_value();
      } catch (const std::bad_alloc&) {
      }
    });
    for (const int signal : {SIGHUP, SIGTERM}) pthread_kill(main.native_handle(), signal);
    main.join();
    return has_served;
  }

  static std::uint64_t quota_of(const Engine& engine, const std::string& key) {
    const auto in_force = engine.in_force();
    std::string text;
    return in_force->policies().named("burst", key, 1, text)->grant->quota.units;
  }

  const HeldSignals held_;
  const TemporaryDirectory directory_;
  const std::string config_ = directory_.file("headgate.yaml");
  const std::string overrides_ = directory_.file("overrides");
};

TEST_F(ServerTest, AFailedAllocationEndsOneStepAtMost) {
  std::size_t failures = 0;
  std::size_t refused = 0;
  for (bool happened = true; happened; ++failures) {
    std::filesystem::remove(overrides_);
    write(3);
    const auto engine = open();
    write(5);
    change_overrides();
    bool has_served = false;
    {
      const FailingAllocation failing(failures);
      has_served = serve(*engine);
      happened = failing.happened();
    }
    if (!has_served) continue;  // it was at the start
    SCOPED_TRACE("after failure " + std::to_string(failures));
    ASSERT_EQ(engine->reloads() + engine->refused_reloads(), 1u);
    refused += engine->refused_reloads();
    const std::uint64_t quota = engine->reloads() == 1 ? 5 : 3;
    EXPECT_EQ(quota_of(*engine, "10.0.0.3"), quota);
    EXPECT_EQ(quota_of(*engine, "10.0.0.2"), 50u);
    ASSERT_TRUE(engine->set_override({"burst", "10.0.0.2", 60}, unix_now()));
    EXPECT_EQ(quota_of(*engine, "10.0.0.3"), quota);
  }
  EXPECT_GT(refused, 10u);
}

}  // namespace
}  // namespace headgate::server
