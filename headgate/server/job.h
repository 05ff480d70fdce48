// A call of the store that may be answered later.
#pragma once

#include <memory>

#include "headgate/store/store.h"

namespace headgate::server {

class Answers;

// How the one that waits is called.
struct Resume {
  void (*call)(void* who) noexcept = [](void*) noexcept {};
  void* who = nullptr;

  void operator()() const noexcept { call(who); }
};

// The store uses the memory of a job until it answers, whether or not the connection is still
// there. So a job belongs to the connection that waits for it, and if that ends first, to itself
// until the answer. Not thread-safe: one worker.
class Job {
 public:
  // Of a pointer that owns a job: it may be left alone at any time.
  struct Leave {
    void operator()(Job* job) const noexcept { job->leave(); }
  };
  template <class Kind>
  using Held = std::unique_ptr<Kind, Leave>;

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // The completion for the one call that begins now.
  [[nodiscard]] store::Completion begin() noexcept;
  // Whether that call was answered.
  [[nodiscard]] bool is_decided() const noexcept { return decided_; }
  // To be called if the call returned without an answer: `then` is called when that comes.
  void await(Resume then) noexcept;

  // Gives back what the decision took and nobody else would: for an answer that is not waited for.
  virtual void undo() noexcept {}

  bool settles = false;  // not to be changed while the call is outstanding

 protected:
  explicit Job(Answers& answers) noexcept : answers_(answers) {}
  ~Job() = default;

 private:
  // The job is not used any more.
  virtual void end() noexcept = 0;

  void leave() noexcept;
  void answered() noexcept;

  Answers& answers_;
  bool decided_ = false;
  bool outstanding_ = false;
  bool left_ = false;  // not waited for
  Resume then_;
};

}  // namespace headgate::server
