// Kills processes at random moments: the common part of the kill tests.
//
// Linked into tests only.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headgate::store {

// The next number of a random stream (xorshift64). REQUIRES: `state` is not 0.
inline std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

// Whether the kernel reports to the next holder of a lock that the last one has died, and the
// reason to skip a test if not.
inline bool locks_heal() {
  void* list = nullptr;
  std::size_t bytes = 0;
  return syscall(SYS_get_robust_list, 0, &list, &bytes) == 0;
}
inline constexpr const char* no_locks_heal =
    "there are no robust locks here: qemu's emulation of Linux has none";

// Keeps three processes running work(seed), which increments `progress` and never returns. Kills
// one of them, and starts another one, `kills` times: each time after 1 to `stride` further steps
// of `progress`.
template <class Work>
void kill_in_the_middle(int kills, std::uint64_t stride, std::atomic<std::uint64_t>& progress,
                        Work work) {
  std::array<pid_t, 3> children{};
  std::uint64_t seed = 88172645463325252;
  for (int killed = 0; killed < kills; ++killed) {
    for (pid_t& child : children) {
      if (child != 0) continue;
      const std::uint64_t child_seed = next(seed);
      child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) work(child_seed);
    }
    const std::uint64_t goal = progress.load() + 1 + next(seed) % stride;
    while (progress.load() < goal) sched_yield();
    pid_t& victim = children[next(seed) % children.size()];
    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    victim = 0;
  }
  for (const pid_t child : children) {
    if (child == 0) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace headgate::store
