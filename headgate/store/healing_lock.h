// A lock between threads and processes that outlives those who die with it.
#pragma once

#include <pthread.h>

namespace headgate::store {

// Lives in shared memory. The kernel hands a dead holder's lock on, and says so.
class HealingLock {
 public:
  // Once, before anybody uses it; and again in a file that has come through a reboot, where its
  // holder can't have.
  void make() noexcept {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }

  // `heal()` is called with the lock held if the last holder died with it.
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
