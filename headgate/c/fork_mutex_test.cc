#include "headgate/c/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace headgate {
namespace {

// Nobody would release in the child what another thread holds at that moment.
TEST(ForkMutex, IsFreeInAChildWhileAnotherThreadUsesIt) {
  ForkMutex first;
  ForkMutex second;
  std::atomic<bool> stop = false;
  std::thread user([&] {
    while (!stop) {
      const std::lock_guard outer(first);
      const std::lock_guard inner(second);
    }
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      for (ForkMutex* const mutex : {&second, &first}) {
        mutex->lock();
        mutex->unlock();
      }
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "of child " << i;
  }
  stop = true;
  user.join();
}

// Otherwise a fork would lock what is not there any more.
TEST(ForkMutex, MayEndBeforeAFork) {
  { const ForkMutex ended; }
  ForkMutex mutex;
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    mutex.lock();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace headgate
