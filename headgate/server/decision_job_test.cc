// Jobs are made as the load needs them, used again, and released after it.

#include "headgate/server/decision_job.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "headgate/base/testing/allocations.h"

namespace headgate::server {
namespace {

class Load {
 public:
  // So many decisions are outstanding at the same time, and then answered.
  void burst(std::size_t count) {
    std::vector<std::pair<Job::Held<DecisionJob>, store::Completion>> waiting;
    waiting.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const store::Completion done = jobs_.spare()->begin();
      waiting.emplace_back(jobs_.lend(nullptr, {}), done);
    }
    for (auto& [job, done] : waiting) done.call(done.context);
  }
  // The allocations of a burst, besides that of its list.
  std::size_t allocations_of(std::size_t count) {
    const std::size_t before = allocations();
    burst(count);
    return allocations() - before - 1;
  }

 private:
  Answers answers_{true};
  DecisionJobs jobs_{answers_};
};

TEST(DecisionJobs, APeakThatComesAgainAllocatesNothing) {
  Load load;
  EXPECT_GE(load.allocations_of(Answers::most), Answers::most - 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(load.allocations_of(Answers::most), 0u);
}

TEST(DecisionJobs, JobsThatAreFreeAreNoPlaces) {
  Answers answers(true);
  DecisionJobs jobs(answers);
  std::vector<Job::Held<DecisionJob>> peak;
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(jobs.spare()->begin());
    peak.push_back(jobs.lend(nullptr, {}));
  }
  for (auto& job : peak) {
    const store::Completion done = job->begin();
    done.call(done.context);
    job.reset();
  }
  while (!answers.is_full()) answers.add(false);
  EXPECT_EQ(jobs.spare(), nullptr);
  while (answers.outstanding() > 0) answers.remove(false);
}

TEST(DecisionJobs, WhatAPeakNeededIsReleasedAfterIt) {
  Load load;
  load.burst(Answers::most);
  for (int i = 0; i < 20'000; ++i) load.burst(5);
  EXPECT_EQ(load.allocations_of(5), 0u);
  EXPECT_GE(load.allocations_of(Answers::most), Answers::most / 2);
}

}  // namespace
}  // namespace headgate::server
