// Decisions of other connections that wait for the store: for tests.
#pragma once

#include <gtest/gtest.h>

#include <list>

#include "headgate/gate/check.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Has all places of Answers but so many until the store answers, which `worker` calls with the
// policy `burst`.
class TakenPlaces {
 public:
  explicit TakenPlaces(WorkerContext& worker, std::size_t but = 0) {
    const gate::Check check{"burst", "other"};
    while (worker.answers().outstanding() < Answers::most - but) {
      DecisionJob* const job = worker.begin();
      EXPECT_FALSE(job->snapshot->gate().decide({&check, 1}, limit::Op::spend, worker.moment(*job),
                                                job->decision, job->begin()));
      jobs_.push_back(worker.lend({}));
    }
  }

 private:
  std::list<Job::Held<DecisionJob>> jobs_;
};

}  // namespace headgate::server
