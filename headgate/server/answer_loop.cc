#include "headgate/server/answer_loop.h"

namespace headgate::server {

AnswerLoop::AnswerLoop(boost::asio::io_context& io, Answers& answers) : answers_(answers) {
  if (!answers.come_later()) return;
  mailbox_.emplace(io, answers.home()->fd());
  answers_.on_first([this] { wait(); });
}

AnswerLoop::~AnswerLoop() {
  if (!mailbox_) return;
  answers_.on_first(nullptr);
  mailbox_->release();  // the descriptor is the mailbox's
}

void AnswerLoop::wait() noexcept {
  if (waits_) return;
  waits_ = true;
  mailbox_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       waiting_.hold([this](boost::system::error_code error) {
                         if (error) return;
                         waits_ = false;
                         answers_.home()->deliver();
                         if (answers_.outstanding() > 0) wait();
                       }));
}

}  // namespace headgate::server
