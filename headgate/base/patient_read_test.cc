#include "headgate/base/patient_read.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace headgate {
namespace {

TEST(PatientRead, ReadsToTheEnd) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  close(ends[1]);
  char room[8];
  ASSERT_EQ(patient_read(ends[0], room), 3);
  EXPECT_EQ(std::string_view(room, 3), "abc");
  EXPECT_EQ(patient_read(ends[0], room), 0);
  close(ends[0]);
}

TEST(PatientRead, WaitsForInputOfADescriptorThatDoesNotBlock) {
  // Nothing can be read of a timer until it expires.
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const itimerspec soon{{}, {0, 20'000'000}};
  ASSERT_EQ(timerfd_settime(timer, 0, &soon, nullptr), 0);
  char expirations[8];
  EXPECT_EQ(patient_read(timer, expirations), 8);
  close(timer);
}

TEST(PatientRead, AFailureIsNotTheEnd) {
  const int directory = open("/", O_RDONLY | O_CLOEXEC);
  char room[8];
  EXPECT_EQ(patient_read(directory, room), -1);
  EXPECT_EQ(errno, EISDIR);
  close(directory);
}

}  // namespace
}  // namespace headgate
