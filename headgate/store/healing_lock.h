// A lock between threads and processes that stays usable when its holder dies.
#pragma once

#include <pthread.h>

namespace headgate::store {

// In shared memory. If the holder dies, the kernel gives the lock to the next thread and reports
// the death to it.
class HealingLock {
 public:
  // To be called once before the first use, and again for a file from before a reboot: its holder,
  // if any, no longer exists.
  void make() noexcept {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }

  // Calls heal() with the lock held if the last holder died while it held the lock.
  template <class Heal>
  void lock(Heal heal) noexcept {
    if (pthread_mutex_lock(&mutex_) == 0) [[likely]]
      return;
    heal();
    pthread_mutex_consistent(&mutex_);
  }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace headgate::store
