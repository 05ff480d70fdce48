#include "headgate/cli/gateway/nginx_log.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

using Event = NginxLog::Event;

constexpr char policy_file[] = "/etc/headgate.yaml";
const std::string at = "2026/01/02 03:04:05 ";
const std::string conf = " in /tmp/headgate-x/nginx.conf:2";

TEST(NginxLog, NoticesAreEventsAndNotShown) {
  const auto started = read_nginx_log(at + "[notice] 7#7: start worker processes", policy_file);
  EXPECT_EQ(started.event, Event::started);
  EXPECT_TRUE(started.quiet);
  const auto other = read_nginx_log(at + "[notice] 7#7: start worker process 8", policy_file);
  EXPECT_EQ(other.event, Event::worker_start);
  EXPECT_EQ(other.worker, 8);
  EXPECT_TRUE(other.quiet);
  const auto leaving = read_nginx_log(at + "[notice] 8#8: gracefully shutting down", policy_file);
  EXPECT_EQ(leaving.event, Event::worker_leave);
  EXPECT_EQ(leaving.worker, 8);
  EXPECT_EQ(read_nginx_log(at + "[notice] 7#7: reconfiguring", policy_file).event, Event::none);
  const auto reopened = read_nginx_log(at + "[notice] 7#7: reopening logs", policy_file);
  EXPECT_EQ(reopened.event, Event::reopened);
  EXPECT_EQ(reopened.writer, 7);
  EXPECT_TRUE(reopened.quiet);
}

TEST(NginxLog, WarningsAndErrorsOfARunningServerAreShownUnchanged) {
  for (const std::string& line : {at + "[error] 8#8: *3 connect() failed (111: Connection refused)",
                                  std::string("anything else")}) {
    const auto log = read_nginx_log(line, policy_file);
    EXPECT_EQ(log.event, Event::none);
    EXPECT_FALSE(log.quiet);
    EXPECT_EQ(log.words, line);
  }
}

TEST(NginxLog, WarningsOfTheConfigurationHaveTheirOwnPlaceAlone) {
  const auto log = read_nginx_log(
      at + "[warn] 7#7: /etc/headgate.yaml:3:5: host 'a:80' matches no request" + conf,
      policy_file);
  EXPECT_EQ(log.event, Event::warned);
  EXPECT_EQ(log.words, "/etc/headgate.yaml:3:5: host 'a:80' matches no request");
}

TEST(NginxLog, WhatPeopleHaveChangedIsShown) {
  for (const std::string message : {"*3 headgate: 127.0.0.1 removes the override {}, client: a",
                                    "headgate: an override has ended: {}"}) {
    const std::string line = at + "[notice] 8#8: " + message;
    const auto log = read_nginx_log(line, policy_file);
    EXPECT_FALSE(log.quiet);
    EXPECT_EQ(log.words, line);
  }
  EXPECT_TRUE(read_nginx_log(at + "[notice] 8#8: *3 denied: headgate: ", policy_file).quiet);
}

TEST(NginxLog, AWorkerThatDiesIsShownAndLeaves) {
  const std::string line = at + "[alert] 7#7: worker process 8 exited on signal 11";
  const auto log = read_nginx_log(line, policy_file);
  EXPECT_EQ(log.event, Event::worker_leave);
  EXPECT_EQ(log.worker, 8);
  EXPECT_EQ(log.words, line);
}

TEST(NginxLog, AWorkerThatEndsByItselfLeaves) {
  const auto log =
      read_nginx_log(at + "[notice] 7#7: worker process 8 exited with code 0", policy_file);
  EXPECT_EQ(log.event, Event::worker_leave);
  EXPECT_EQ(log.worker, 8);
  EXPECT_TRUE(log.quiet);
}

TEST(NginxLog, ClientsCannotSayThatAWorkerIsMissing) {
  const auto log = read_nginx_log(
      at + "[error] 8#8: *1 no, referrer: \"x failed while spawning \"worker process\" y\"",
      policy_file);
  EXPECT_EQ(log.event, Event::none);
}

TEST(NginxLog, AWorkerThatCannotRunIsShownAndNotReplaced) {
  const std::string fork = at +
                           "[alert] 7#7: fork() failed while spawning \"worker process\" (11: "
                           "Resource temporarily unavailable)";
  const auto failed = read_nginx_log(fork, policy_file);
  EXPECT_EQ(failed.event, Event::no_worker);
  EXPECT_EQ(failed.worker, 0);
  EXPECT_EQ(failed.words, fork);
  const auto fatal = read_nginx_log(
      at + "[alert] 7#7: worker process 8 exited with fatal code 2 and cannot be respawned",
      policy_file);
  EXPECT_EQ(fatal.event, Event::no_worker);
  EXPECT_EQ(fatal.worker, 8);
  EXPECT_FALSE(fatal.quiet);
  EXPECT_EQ(
      read_nginx_log(at + "[alert] 7#7: fork() failed while spawning \"cache manager process\"",
                     policy_file)
          .event,
      Event::none);
}

TEST(NginxLog, ReasonsForNotStartingAreReworded) {
  const struct {
    std::string message;
    const char* words;
  } cases[] = {
      {"host not found in upstream \"nohost:80\"" + conf,
       "the upstream's host in \"nohost:80\" was not found"},
      {"module \"/m.so\" version 1022001 instead of 1024003" + conf,
       "the module /m.so was built for nginx 1.22.1, and the nginx installed here is 1.24.3; "
       "build it again with ./dev build"},
      {"module \"/m.so\" is not binary compatible" + conf,
       "the module /m.so was built for an nginx with other options than the one installed here; "
       "build it again with ./dev build"},
      {"dlopen() \"/m.so\" failed (/m.so: file too short)" + conf,
       "the module /m.so can't be loaded: /m.so: file too short"},
      {"headgate: /etc/headgate.yaml:3:1: unknown key \"polices\"" + conf,
       "/etc/headgate.yaml:3:1: unknown key \"polices\""},
      {"open() \"/var/x\" failed (13: Permission denied)",
       "nginx: open() \"/var/x\" failed (13: Permission denied)"},
  };
  for (const auto& c : cases) {
    const auto log = read_nginx_log(at + "[emerg] 7#7: " + c.message, policy_file);
    EXPECT_EQ(log.event, Event::refused);
    EXPECT_FALSE(log.quiet);
    EXPECT_EQ(log.words, c.words);
  }
}

TEST(NginxLog, ALineBeforeTheLogIsOpenHasNoTime) {
  const auto log =
      read_nginx_log("nginx: [emerg] /usr/sbin/nginx can't be run: Exec format error", policy_file);
  EXPECT_EQ(log.event, Event::refused);
  EXPECT_EQ(log.words, "nginx: /usr/sbin/nginx can't be run: Exec format error");
}

}  // namespace
}  // namespace headgate::cli
