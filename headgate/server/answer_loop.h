// Delivers the answers of a worker in its event loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>

#include "headgate/server/answers.h"
#include "headgate/server/handler_memory.h"

namespace headgate::server {

// The io_context has work of this while answers are outstanding. `answers` outlives this.
class AnswerLoop {
 public:
  AnswerLoop(boost::asio::io_context& io, Answers& answers);
  ~AnswerLoop();
  AnswerLoop(const AnswerLoop&) = delete;
  AnswerLoop& operator=(const AnswerLoop&) = delete;

 private:
  void wait() noexcept;

  Answers& answers_;
  std::optional<boost::asio::posix::stream_descriptor> mailbox_;  // if answers come later
  const HandlerMemory waiting_;
  bool waits_ = false;
};

}  // namespace headgate::server
