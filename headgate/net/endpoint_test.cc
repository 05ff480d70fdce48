#include "headgate/net/endpoint.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "headgate/base/testing/temporary_directory.h"

namespace headgate::net {
namespace {

using testing::HasSubstr;

TEST(Endpoint, ReadsTcpAndUnixAddresses) {
  EXPECT_EQ(Endpoint::parse("127.0.0.1:8081")->text(), "127.0.0.1:8081");
  EXPECT_EQ(Endpoint::parse("[::1]:8081")->text(), "[::1]:8081");
  EXPECT_EQ(Endpoint::parse("*:8081")->text(), "0.0.0.0:8081");
  EXPECT_EQ(Endpoint::parse("unix:/tmp/a.sock")->text(), "unix:/tmp/a.sock");
  for (const char* bad : {"", ":", "8081", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "[::1]",
                          "::1:80", "127.0.0.1:65536", "127.0.0.1:99999999999", "unix:"}) {
    const auto endpoint = Endpoint::parse(bad);
    ASSERT_FALSE(endpoint) << bad;
    EXPECT_THAT(endpoint.error(), HasSubstr("expected")) << bad;
  }
  EXPECT_FALSE(Endpoint::parse("unix:" + std::string(200, 'a')));
}

TEST(Endpoint, IsLocalIfOnlyThisMachineCanConnect) {
  for (const char* local : {"127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "unix:/tmp/a"}) {
    EXPECT_TRUE(Endpoint::parse(local)->is_local()) << local;
  }
  for (const char* open : {"0.0.0.0:1", "*:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1"}) {
    EXPECT_FALSE(Endpoint::parse(open)->is_local()) << open;
  }
}

TEST(Endpoint, PortZeroTakesAFreePortThatIsNotShared) {
  auto first = Endpoint::parse_tcp("127.0.0.1:0").value();
  const int fd = first.listen().value();
  EXPECT_THAT(first.text(), testing::MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  EXPECT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0) << "accept() would wait";
  auto second = Endpoint::parse(first.text()).value();
  for (const auto& refused : {second.listen(), second.listen_shared()}) {
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error(), HasSubstr(first.text() + " is in use by another program"));
  }
  close(fd);
}

// How many connections wait there.
int accept_all(int listener) {
  for (int count = 0;; ++count) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) return count;
    close(fd);
  }
}

TEST(Endpoint, SharesItsPortWithItselfOnly) {
  auto first = Endpoint::parse("127.0.0.1:0").value();
  const int one = first.listen_shared().value();
  EXPECT_THAT(first.text(), testing::Not(testing::EndsWith(":0")));
  const int two = first.listen_shared().value();

  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(one, reinterpret_cast<sockaddr*>(&address), &size);
  for (int i = 0; i < 64; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
    close(fd);
  }
  EXPECT_GT(accept_all(one), 0);
  EXPECT_GT(accept_all(two), 0);

  auto second = Endpoint::parse(first.text()).value();
  for (const auto& refused : {second.listen(), second.listen_shared()}) {
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error(), HasSubstr(first.text() + " is in use by another program"));
  }
  close(one);
  close(two);
}

TEST(Endpoint, SaysWhyAnAddressCannotBeBound) {
  EXPECT_THAT(Endpoint::parse("192.0.2.1:0")->listen().error(),
              HasSubstr("does not have that address"));
  EXPECT_FALSE(Endpoint::parse_tcp("unix:/tmp/a.sock"));
}

TEST(Endpoint, AUnixSocketHasModeAndGroup) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a,b.sock");
  const auto access_of = [&](const std::string& options) {
    auto endpoint = Endpoint::parse("unix:" + path + options).value();
    EXPECT_EQ(endpoint.text(), "unix:" + path);
    const int fd = endpoint.listen().value();
    struct stat found = {};
    EXPECT_EQ(stat(path.c_str(), &found), 0);
    close(fd);
    endpoint.remove();
    return std::pair(found.st_mode & 07777, found.st_gid);
  };
  const mode_t before = umask(0077);
  EXPECT_EQ(access_of(""), std::pair(mode_t{0660}, getegid())) << "whatever the umask";
  EXPECT_EQ(access_of(",mode=0600"), std::pair(mode_t{0600}, getegid()));
  EXPECT_EQ(access_of(",mode=777").first, mode_t{0777});
  const struct group* own = getgrgid(getegid());
  ASSERT_NE(own, nullptr);
  const std::string group = std::string(",group=") + own->gr_name;
  EXPECT_EQ(access_of(group + ",mode=0640"), std::pair(mode_t{0640}, getegid()));
  if (geteuid() == 0) {
    EXPECT_EQ(access_of(",mode=0660,group=www-data").second, getgrnam("www-data")->gr_gid);
  }
  umask(before);
}

TEST(Endpoint, SaysWhatIsWrongWithModeAndGroup) {
  const std::string mode = "a mode from 0600 to 0777, such as mode=0660";
  const std::string form = "unix:PATH and perhaps ,mode=0660 and ,group=NAME, each once";
  const std::pair<const char*, std::string> cases[] = {
      {"unix:/a,mode=", mode},
      {"unix:/a,mode=rw", mode},
      {"unix:/a,mode=0880", mode},
      {"unix:/a,mode=01777", mode},
      {"unix:/a,mode=0444", mode},
      {"unix:/a,group=no such", "a group of this system after group="},
      {"unix:/a,user=root", form},
      {"unix:/a,mode=0660,mode=0600", form},
      {"unix:,mode=0660", "unix:PATH with at most"},
  };
  for (const auto& [text, expected] : cases) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_THAT(endpoint.error(), HasSubstr(std::string(text) + "\": expected " + expected));
  }
}

TEST(Endpoint, RemovesNoSocketOfAServerThatListensThereSince) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.sock");
  auto first = Endpoint::parse("unix:" + path).value();
  close(first.listen().value());  // it stops, and finishes what has begun
  auto second = Endpoint::parse("unix:" + path).value();
  const int fd = second.listen().value();
  first.remove();
  EXPECT_TRUE(std::filesystem::exists(path));
  second.remove();
  EXPECT_FALSE(std::filesystem::exists(path));
  close(fd);
}

// As one that was stopped by a debugger does.
TEST(Endpoint, DoesNotWaitForAServerThatAcceptsNoConnections) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.sock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(server, to, sizeof address), 0);
  ASSERT_EQ(listen(server, 0), 0);
  std::vector<int> waiting;
  do {
    waiting.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
  } while (connect(waiting.back(), to, sizeof address) == 0);
  ASSERT_EQ(errno, EAGAIN) << "its queue is full";

  auto other = Endpoint::parse("unix:" + path).value();
  const auto listens = other.listen();
  ASSERT_FALSE(listens);
  EXPECT_THAT(listens.error(), HasSubstr("in use by another program"));
  for (const int each : waiting) close(each);
  close(server);
}

TEST(Endpoint, TakesOverASocketWithoutAServer) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.sock");
  const std::string text = "unix:" + path;
  auto killed = Endpoint::parse(text).value();
  const int fd = killed.listen().value();
  auto other = Endpoint::parse(text).value();
  EXPECT_FALSE(other.listen()) << "another server listens there";
  close(fd);  // the file stays
  const auto taken = other.listen();
  ASSERT_TRUE(taken) << taken.error();
  other.remove();
  close(*taken);
  EXPECT_FALSE(std::filesystem::exists(path));

  std::ofstream(path) << "a file of other use";
  const auto file = other.listen();
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error(), HasSubstr("it is no socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace headgate::net
