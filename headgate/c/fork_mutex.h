// A mutex that is free in each child process.
//
// A fork copies locks, but only the thread that forks: what another thread holds would stay locked
// in the child for good. So a fork waits until it holds all of these, and both processes release
// them.
#pragma once

#include <mutex>

namespace headgate {

// Thread-safe. A thread that holds one does not fork. One that takes two of them takes first the
// one that was made first.
class ForkMutex {
 public:
  // Throws std::bad_alloc.
  ForkMutex();
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace headgate
