#include "headgate/c/fork_mutex.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <vector>

namespace headgate {
namespace {

// All mutexes of this process, in the order in which they were made.
struct All {
  All() {
    const auto take = [] {
      of_process().mutex.lock();
      for (ForkMutex* one : of_process().mutexes) one->lock();
    };
    const auto release = [] {
      for (ForkMutex* one : of_process().mutexes) one->unlock();
      of_process().mutex.unlock();
    };
    if (pthread_atfork(take, release, release) != 0) throw std::bad_alloc();
  }

  // Never destroyed: gates may be closed, and processes forked, while the program ends.
  static All& of_process() {
    static All& all = *new All();
    return all;
  }

  std::mutex mutex;
  std::vector<ForkMutex*> mutexes;
};

}  // namespace

ForkMutex::ForkMutex() {
  All& all = All::of_process();
  const std::lock_guard lock(all.mutex);
  all.mutexes.push_back(this);
}

ForkMutex::~ForkMutex() {
  All& all = All::of_process();
  const std::lock_guard lock(all.mutex);
  all.mutexes.erase(std::find(all.mutexes.begin(), all.mutexes.end(), this));
}

}  // namespace headgate
