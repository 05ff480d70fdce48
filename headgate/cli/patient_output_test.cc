#include "headgate/cli/patient_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>
#include <string>
#include <utility>

#include "headgate/server/log.h"

namespace headgate::cli {
namespace {

using ::testing::MatchesRegex;

class PatientOutputTest : public ::testing::Test {
 protected:
  PatientOutputTest() {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~PatientOutputTest() override {
    close(ends_[0]);
    close(ends_[1]);
  }

  // All that can be read now.
  std::string read() {
    std::string all;
    char bytes[65536];
    for (ssize_t size; (size = ::read(ends_[0], bytes, sizeof bytes)) > 0;) {
      all.append(bytes, static_cast<std::size_t>(size));
    }
    return all;
  }

  int ends_[2]{};
};

const std::string line(999, 'x');
constexpr std::chrono::milliseconds soon{1};

TEST_F(PatientOutputTest, WritesWhatIsRead) {
  PatientOutput output(ends_[1]);
  std::ostream out(&output);
  out << "one\n" << std::string(9999, 'x') << '\n' << std::flush;
  EXPECT_EQ(read(), "one\n" + std::string(9999, 'x') + '\n');
}

TEST_F(PatientOutputTest, LosesWhatAReaderThatStallsDoesNotTake) {
  PatientOutput output(ends_[1], PatientOutput::plain_line, soon);
  std::ostream out(&output);
  for (int i = 0; i < 1000; ++i) out << line + '\n';  // of which a pipe takes 64
  EXPECT_TRUE(out.good());

  std::string seen = read();
  const auto taken = std::count(seen.begin(), seen.end(), '\n');
  EXPECT_GT(taken, 0);
  out << "again\n";
  EXPECT_EQ(read(), "headgate: log lines lost because nobody read standard error: " +
                        std::to_string(1000 - taken) + "\nagain\n");
  out << "more\n";
  EXPECT_EQ(read(), "more\n");
}

TEST_F(PatientOutputTest, ALineThatIsCutEndsThere) {
  PatientOutput output(ends_[1], PatientOutput::plain_line, soon);
  std::ostream out(&output);
  out << std::string(200'000, 'x') + '\n';
  EXPECT_EQ(read().find('\n'), std::string::npos);
  out << "again\n";
  EXPECT_EQ(read(), "\nheadgate: log lines lost because nobody read standard error: 1\nagain\n");
}

TEST_F(PatientOutputTest, SaysInTheFormOfTheLogHowManyLinesAreLost) {
  const auto make_line = [](const std::string& words) {
    return server::warning_line(server::LogFormat::json, words);
  };
  PatientOutput output(ends_[1], make_line, soon);
  std::ostream out(&output);
  for (int i = 0; i < 1000; ++i) out << line + '\n';
  read();
  out << "again\n";
  EXPECT_THAT(read(), MatchesRegex(R"(\{"time":"[-0-9]+T[:.0-9]+Z","level":"warning",)"
                                   R"("message":"log lines lost because nobody read standard )"
                                   R"(error: [0-9]+"\})"
                                   "\nagain\n"));
}

TEST_F(PatientOutputTest, AReaderThatIsGoneIsNoFault) {
  signal(SIGPIPE, SIG_IGN);
  PatientOutput output(ends_[1]);
  std::ostream out(&output);
  close(std::exchange(ends_[0], -1));
  out << "one\n"
      << "two\n";
  EXPECT_TRUE(out.good());
}

}  // namespace
}  // namespace headgate::cli
