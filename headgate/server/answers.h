// The answers that the store owes to one worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "headgate/store/mailbox.h"

namespace headgate::server {

// Not thread-safe.
class Answers {
 public:
  // A decision that waits has a context of 60 KiB, so that all take 60 MiB. Redis that answers
  // within a millisecond decides a million per second by then, more than a worker can.
  static constexpr std::size_t most = 1024;
  // Settlements wait longer while the store stands still, and leave half of the places to requests.
  static constexpr std::size_t most_settlements = most / 2;
  // So many places are for connections to which nothing is owed: enough for as many clients to get
  // an answer at the same time while others pipeline.
  static constexpr std::size_t kept = most / 8;
  // How long the end of a worker waits for answers: somewhat longer than a settlement waits for
  // Redis, whose mark and corrections have a second each, unless the time-out is longer.
  static constexpr std::chrono::milliseconds patience{2500};

  // `come_later`: the store does not always complete at once. Throws std::system_error if there is
  // no descriptor for the mailbox.
  explicit Answers(bool come_later)
      : home_(come_later ? std::make_unique<store::Mailbox>() : nullptr) {}
  // Waits for what is outstanding, at most for `patience`. After that, jobs without an answer
  // and the mailbox stay in memory: the store may still write there.
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  [[nodiscard]] bool come_later() const noexcept { return home_ != nullptr; }
  // The mailbox; null if no answer comes later.
  [[nodiscard]] store::Mailbox* home() const noexcept { return home_.get(); }
  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_; }
  // Whether no further call of the store may be made now.
  [[nodiscard]] bool is_full() const noexcept { return outstanding_ >= most; }
  // Whether a connection to which so many are owed may cause another one. If not, it is not read
  // until one of them has come: a connection may be owed as many as there are free places, apart
  // from those that are kept. So those that pipeline have equal shares, however many they are.
  [[nodiscard]] bool may_owe_more(std::size_t owed) const noexcept {
    return owed == 0 || outstanding_ + owed + kept < most;
  }
  // Whether no further settlement may begin now.
  [[nodiscard]] bool is_full_of_settlements() const noexcept {
    return settlements_ >= most_settlements;
  }

  // `begin` is called when an answer is outstanding and none was before. The one that sets it
  // delivers the mailbox from then on until none is.
  void on_first(std::function<void()> begin) { on_first_ = std::move(begin); }

  // For Job:
  void add(bool settles) noexcept {
    if (settles) ++settlements_;
    if (outstanding_++ == 0 && on_first_) on_first_();
  }
  void remove(bool settles) noexcept {
    if (settles) --settlements_;
    --outstanding_;
  }

 private:
  std::unique_ptr<store::Mailbox> home_;
  std::size_t outstanding_ = 0;
  std::size_t settlements_ = 0;  // of those
  std::function<void()> on_first_;
};

}  // namespace headgate::server
