#include "headgate/store/mailbox.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace headgate::store {
namespace {

// Notes in which order and on which thread it was opened.
struct Note : Mailbox::Letter {
  Note() : Letter([](Letter& self) noexcept { static_cast<Note&>(self).open(); }) {}
  void open() {
    ++opened;
    by = std::this_thread::get_id();
    if (order != nullptr) order->push_back(number);
    if (then != nullptr) box->post(*then);
  }

  int opened = 0;
  std::thread::id by;
  std::size_t number = 0;
  std::vector<std::size_t>* order = nullptr;
  Mailbox* box = nullptr;
  Note* then = nullptr;  // posted by open()
};

bool is_readable(const Mailbox& box) {
  pollfd waits{box.fd(), POLLIN, 0};
  return poll(&waits, 1, 0) == 1;
}

void wait(const Mailbox& box) {
  pollfd waits{box.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&waits, 1, -1), 1);
}

TEST(Mailbox, IsReadableWhileItHasLetters) {
  Mailbox box;
  EXPECT_FALSE(is_readable(box));
  box.deliver();
  Note first;
  Note second;
  box.post(first);
  box.post(second);
  EXPECT_TRUE(is_readable(box));
  EXPECT_EQ(first.opened, 0);
  box.deliver();
  EXPECT_EQ(first.opened, 1);
  EXPECT_EQ(second.opened, 1);
  EXPECT_FALSE(is_readable(box));
  box.deliver();
  EXPECT_EQ(first.opened, 1);
}

TEST(Mailbox, OpensLettersInTheOrderInWhichTheyWerePosted) {
  Mailbox box;
  std::vector<std::size_t> order;
  std::vector<Note> notes(5);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    notes[i].number = i;
    notes[i].order = &order;
    box.post(notes[i]);
  }
  box.deliver();
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(Mailbox, WhatALetterPostsIsForTheNextTime) {
  Mailbox box;
  Note second;
  Note first;
  first.box = &box;
  first.then = &second;
  box.post(first);
  box.deliver();
  EXPECT_EQ(second.opened, 0);
  EXPECT_TRUE(is_readable(box));
  box.deliver();
  EXPECT_EQ(second.opened, 1);
}

TEST(Mailbox, ALetterMayBePostedAgain) {
  Mailbox box;
  Note note;
  note.box = &box;
  note.then = &note;
  box.post(note);
  for (int i = 1; i <= 3; ++i) {
    box.deliver();
    EXPECT_EQ(note.opened, i);
  }
  note.then = nullptr;
  box.deliver();
}

TEST(Mailbox, EveryLetterOfManyThreadsIsOpenedOnceByItsOwner) {
  constexpr std::size_t senders = 4;
  constexpr std::size_t letters = 5000;
  Mailbox box;
  std::vector<std::size_t> order;
  std::vector<std::vector<Note>> notes(senders);
  for (std::size_t i = 0; i < senders; ++i) {
    notes[i] = std::vector<Note>(letters);
    for (std::size_t j = 0; j < letters; ++j) {
      notes[i][j].number = i * letters + j;
      notes[i][j].order = &order;
    }
  }
  std::vector<std::thread> threads;
  for (auto& mine : notes) {
    threads.emplace_back([&] {
      for (Note& note : mine) box.post(note);
    });
  }
  while (order.size() < senders * letters) {
    wait(box);  // for ever, if a letter is forgotten
    box.deliver();
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : notes) {
    for (const Note& note : mine) {
      ASSERT_EQ(note.opened, 1);
      ASSERT_EQ(note.by, std::this_thread::get_id());
    }
  }
  std::vector<std::size_t> last(senders, 0);
  for (const std::size_t number : order) {
    std::size_t& before = last[number / letters];
    ASSERT_GE(number % letters, before) << "each sender's letters keep their order";
    before = number % letters;
  }
}

// The answer to the last question ends the mailbox of who asked, while its sender is about to leave
// post().
TEST(Mailbox, MayEndWhenItsLastLetterIsOpened) {
  for (int round = 0; round < 300; ++round) {
    auto box = std::make_unique<Mailbox>();
    Note note;
    std::thread sender([&box = *box, &note] { box.post(note); });
    while (note.opened == 0) {
      wait(*box);
      box->deliver();
    }
    box.reset();
    sender.join();
  }
}

}  // namespace
}  // namespace headgate::store
