// Brings answers to the thread that waits for them.
#pragma once

#include <mutex>

namespace headgate::store {

// A thread that has an event loop owns one. Other threads post letters; the loop watches fd() and
// calls deliver(), which opens them on its own thread. Memory is never short: a letter is part of
// what it is about.
class Mailbox {
 public:
  class Letter {
   protected:
    // deliver() calls `open` once, which may end the letter.
    explicit Letter(void (*open)(Letter&) noexcept) noexcept : open_(open) {}

   private:
    friend class Mailbox;
    void (*open_)(Letter&) noexcept;
    Letter* next_ = nullptr;
  };

  // Throws std::system_error if no descriptor is left.
  Mailbox();
  // REQUIRES: no letter follows. Letters that were not delivered are not opened.
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Readable while there are letters.
  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Any thread. The letter lives until it is opened, and is posted once at a time.
  void post(Letter& letter) noexcept;

  // Opens the letters that were posted before, in their order. The owner's thread.
  void deliver() noexcept;

 private:
  const int fd_;
  std::mutex lock_;
  Letter* first_ = nullptr;
  Letter** end_ = &first_;  // where the next letter is linked
};

}  // namespace headgate::store
