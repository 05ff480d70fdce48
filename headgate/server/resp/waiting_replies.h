// The replies of one RESP connection from the first one on that waits for the store.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <utility>

#include "headgate/net/resp_writer.h"
#include "headgate/server/answers.h"
#include "headgate/server/channel.h"
#include "headgate/server/job.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Replies are sent in the order of the commands. So one that follows a decision without an answer
// waits for it, too. Empty, without memory of its own, as long as the store completes at once. Not
// thread-safe.
class WaitingReplies {
 public:
  // Writes the reply of a job that is decided.
  using Write = void (*)(const Job& job, WorkerContext& worker, net::RespWriter& out);

  // The decisions of one connection that wait at the same time: a few long pipelines, and less than
  // a tenth of what a worker can have.
  static constexpr std::size_t most = 64;

  // `answers` outlives this. `resume`: of the connection.
  WaitingReplies(const Answers& answers, Resume resume) noexcept
      : answers_(answers), resume_(resume) {}

  // To be called when an answer has come.
  [[nodiscard]] Resume resume() const noexcept { return resume_; }

  [[nodiscard]] bool is_empty() const noexcept { return replies_.empty(); }
  // Whether no further command is to be answered until an answer has come.
  [[nodiscard]] bool is_full() const noexcept {
    return replies_.size() >= most || !answers_.may_owe_more(replies_.size()) ||
           (!replies_.empty() && replies_.back().after.size() >= Channel::together);
  }

  // Where the next reply is appended, if it is there: `direct` if nothing waits.
  [[nodiscard]] std::string& end(std::string& direct) noexcept {
    return replies_.empty() ? direct : replies_.back().after;
  }
  // The next reply is that of a job, which is not decided yet. Throws std::bad_alloc.
  void push(Job::Held<Job> job, Write write, net::RespVersion version) {
    replies_.push_back({std::move(job), write, version, {}});
  }

  // Whether the first reply can be sent.
  [[nodiscard]] bool has_ready() const noexcept {
    return !replies_.empty() && replies_.front().job->is_decided();
  }
  // Moves all replies that can be sent to the end of `out`. Throws std::bad_alloc.
  void take_ready(WorkerContext& worker, std::string& out) {
    while (has_ready()) {
      Reply& reply = replies_.front();
      net::RespWriter writer(out, reply.version);
      reply.write(*reply.job, worker, writer);
      out += reply.after;
      replies_.pop_front();
    }
  }

 private:
  struct Reply {
    Job::Held<Job> job;
    Write write;
    net::RespVersion version;
    std::string after;  // the replies to the commands that follow
  };

  const Answers& answers_;
  const Resume resume_;
  std::list<Reply> replies_;
};

}  // namespace headgate::server
