#include "headgate/server/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "headgate/server/answer_loop.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/worker_context.h"
#include "headgate/store/mailbox.h"

namespace headgate::server {
namespace {

// Answers from a thread of its own, as a store over a network does.
class ThreadedStore final : public store::Store {
 public:
  explicit ThreadedStore(store::Store& store) : store_(store), thread_([this] { answer(); }) {}
  ~ThreadedStore() override {
    {
      const std::lock_guard lock(lock_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  [[nodiscard]] Instant now() const noexcept override { return store_.now(); }
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
            store::Completion done) noexcept override {
    const std::lock_guard lock(lock_);
    calls_.push_back(new Call(bundles, now, done));
    changed_.notify_one();
  }
  // Answers nothing until it is called again.
  void hold(bool holds) {
    const std::lock_guard lock(lock_);
    holds_ = holds;
    changed_.notify_one();
  }

 private:
  struct Call : store::Mailbox::Letter {
    Call(std::span<store::Bundle> its_bundles, std::optional<Instant>& its_now,
         store::Completion its_done)
        : Letter([](Letter& self) noexcept {
            auto& call = static_cast<Call&>(self);
            call.done.call(call.done.context);
            delete &call;
          }),
          bundles(its_bundles),
          now(its_now),
          done(its_done) {}
    std::span<store::Bundle> bundles;
    std::optional<Instant>& now;
    store::Completion done;
  };

  void answer() {
    std::unique_lock lock(lock_);
    while (!ends_ || !calls_.empty()) {
      changed_.wait(lock, [this] { return ends_ || (!holds_ && !calls_.empty()); });
      if (holds_) return;
      for (Call* const call : std::exchange(calls_, {})) {
        store_.take(call->bundles, call->now, {});
        call->done.home->post(*call);
      }
    }
  }

  store::Store& store_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Call*> calls_;
  bool holds_ = false;
  bool ends_ = false;
  std::thread thread_;
};

class AnswersTest : public testing::Test {
 protected:
  AnswersTest()
      : engine_(open_engine(
            plenty, [](store::Table& table) { return std::make_unique<ThreadedStore>(table); })) {}

  ThreadedStore& store() { return static_cast<ThreadedStore&>(engine_->store()); }

  // Asks for a decision.
  static Job::Held<DecisionJob> ask(WorkerContext& worker, Resume then = {}) {
    return ask(worker, *worker.begin(), then);
  }
  static Job::Held<DecisionJob> ask(WorkerContext& worker, DecisionJob& job, Resume then = {}) {
    const gate::Check check{"burst", "k"};
    EXPECT_FALSE(job.snapshot->gate().decide({&check, 1}, limit::Op::spend, worker.moment(job),
                                             job.decision, job.begin()));
    return worker.lend(then);
  }

  std::unique_ptr<Engine> engine_;
};

TEST_F(AnswersTest, TheLoopHasWorkUntilAllAnswersAreThere) {
  WorkerContext worker(*engine_);
  boost::asio::io_context io;
  const AnswerLoop loop(io, worker.answers());
  EXPECT_EQ(io.run(), 0u) << "nothing is outstanding";
  for (int round = 0; round < 100; ++round) {
    std::vector<std::thread::id> answered;
    const Resume then{
        [](void* to) noexcept {
          static_cast<std::vector<std::thread::id>*>(to)->push_back(std::this_thread::get_id());
        },
        &answered};
    std::vector<Job::Held<DecisionJob>> jobs;
    for (int i = 0; i < 20; ++i) jobs.push_back(ask(worker, then));
    for (int i = 0; i < 5; ++i) jobs.pop_back();  // these are not waited for
    EXPECT_EQ(worker.answers().outstanding(), 20u);
    io.restart();
    io.run();
    EXPECT_EQ(worker.answers().outstanding(), 0u);
    EXPECT_EQ(answered, std::vector(15, std::this_thread::get_id()));
    for (const auto& job : jobs) {
      EXPECT_TRUE(job->is_decided());
      EXPECT_TRUE(job->decision.results[0].decision.admitted);
    }
  }
}

TEST_F(AnswersTest, SettlementsLeaveHalfOfThePlacesToRequests) {
  WorkerContext worker(*engine_);
  std::vector<Job::Held<DecisionJob>> jobs;
  while (DecisionJob* const job = worker.begin_settlement()) jobs.push_back(ask(worker, *job));
  EXPECT_EQ(jobs.size(), Answers::most_settlements);
  while (worker.begin() != nullptr) jobs.push_back(ask(worker));
  EXPECT_EQ(jobs.size(), Answers::most);
}

TEST_F(AnswersTest, RequestsThatWaitAreNoReasonToRefuseASettlement) {
  WorkerContext worker(*engine_);
  std::vector<Job::Held<DecisionJob>> jobs;
  while (jobs.size() < Answers::most - 1) jobs.push_back(ask(worker));
  EXPECT_NE(worker.begin_settlement(), nullptr);
}

// A connection that is owed so many answers.
using Owed = std::size_t;

// Each asks for more until it may not, in turns. Returns what is owed to each.
std::vector<Owed> pipeline(Answers& answers, std::size_t connections) {
  std::vector<Owed> all(connections);
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (Owed& owed : all) {
      if (answers.is_full() || !answers.may_owe_more(owed)) continue;
      answers.add(false);
      ++owed;
      goes_on = true;
    }
  }
  return all;
}

TEST(Answers, ConnectionsThatPipelineHaveEqualSharesAndLeavePlaces) {
  for (const std::size_t connections : {1, 2, 16, 100, 500}) {
    Answers answers(true);
    const std::vector<Owed> owed = pipeline(answers, connections);
    const auto [least, most] = std::minmax_element(owed.begin(), owed.end());
    EXPECT_LE(*most - *least, 1u) << connections;
    EXPECT_GT(*least, 0u);
    EXPECT_LE(answers.outstanding(), Answers::most - Answers::kept);
    const std::size_t left = Answers::most - Answers::kept - answers.outstanding();
    EXPECT_GE(left + 1, *least) << "as many as each of them has: " << connections;
    EXPECT_TRUE(answers.may_owe_more(0));
    while (answers.outstanding() > 0) answers.remove(false);
  }
}

TEST(Answers, TheShareOfAConnectionGrowsAgain) {
  Answers answers(true);
  const Owed alone = pipeline(answers, 1).front();
  const Owed beside = pipeline(answers, 1).front();
  EXPECT_LT(beside, alone);
  for (Owed i = 0; i < alone; ++i) answers.remove(false);
  EXPECT_TRUE(answers.may_owe_more(beside));
  while (answers.outstanding() > 0) answers.remove(false);
}

TEST_F(AnswersTest, AWorkerEndsWhenItsAnswersAreThere) {
  std::optional<WorkerContext> worker(std::in_place, *engine_);
  store().hold(true);
  static_cast<void>(ask(*worker));
  std::thread later([this] { store().hold(false); });
  worker.reset();
  later.join();
}

TEST_F(AnswersTest, AWorkerWaitsForAStoreThatDoesNotAnswerForABoundedTime) {
  static auto& left = *new std::vector<store::Mailbox*>;  // in memory for ever, not by mistake
  store().hold(true);
  {
    WorkerContext worker(*engine_);
    left.push_back(worker.answers().home());
    static_cast<void>(ask(worker));
  }
  store().hold(false);  // its memory is still there to be written
}

}  // namespace
}  // namespace headgate::server
