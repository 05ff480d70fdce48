#include "headgate/store/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace headgate::store {
namespace {

int new_event() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return fd;
}

}  // namespace

Mailbox::Mailbox() : fd_(new_event()) {}

Mailbox::~Mailbox() { close(fd_); }

void Mailbox::post(Letter& letter) noexcept {
  // Under the lock, so that the owner, who may end when it has this letter, finds no thread inside.
  const std::lock_guard lock(lock_);
  const bool is_first = first_ == nullptr;
  letter.next_ = nullptr;
  *end_ = &letter;
  end_ = &letter.next_;
  if (is_first) eventfd_write(fd_, 1);
}

void Mailbox::deliver() noexcept {
  Letter* next = nullptr;
  {
    const std::lock_guard lock(lock_);
    eventfd_t ignored = 0;
    eventfd_read(fd_, &ignored);
    next = std::exchange(first_, nullptr);
    end_ = &first_;
  }
  while (next != nullptr) {
    Letter& letter = *next;
    next = letter.next_;  // the letter may end when it is opened
    letter.open_(letter);
  }
}

}  // namespace headgate::store
