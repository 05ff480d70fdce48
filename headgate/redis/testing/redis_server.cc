#include "headgate/redis/testing/redis_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "headgate/net/resp_reply_reader.h"
#include "headgate/net/resp_writer.h"

namespace headgate::redis {
namespace {

// Ends the test; RedisServer's users cannot go on without it.
[[noreturn]] void give_up(const std::string& why) {
  ADD_FAILURE() << why;
  std::abort();
}

std::string shown(const net::RespReply& reply) {
  switch (reply->type) {
    case net::RespValue::Type::text:
    case net::RespValue::Type::error:
      return std::string(reply->text);
    case net::RespValue::Type::integer:
      return std::to_string(reply->number);
    case net::RespValue::Type::null:
      return "(nil)";
    case net::RespValue::Type::array:
      break;
  }
  std::string text;
  reply.for_each([&](const net::RespReply& element) { text += shown(element) + '\n'; });
  return text;
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)) {
  start();
}

RedisServer::~RedisServer() { kill(); }

void RedisServer::start() {
  int log[2];
  if (pipe2(log, O_CLOEXEC) != 0) give_up("no pipe");
  std::vector<std::string> arguments{"redis-server",
                                     "--port",
                                     "0",
                                     "--unixsocket",
                                     socket().string(),
                                     "--dir",
                                     directory_.path().string(),
                                     "--save",
                                     "",
                                     "--appendonly",
                                     "no"};
  arguments.insert(arguments.end(), options_.begin(), options_.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(log[1], 1);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(log[1]);
  std::string said;
  while (said.find("eady to accept connections") == std::string::npos) {
    char bytes[1024];
    const ssize_t got = read(log[0], bytes, sizeof bytes);
    if (got <= 0) give_up("redis-server does not start: " + said);
    said.append(bytes, static_cast<std::size_t>(got));
  }
  close(log[0]);  // what it logs later is lost
  connection_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
  if (connect(connection_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up("cannot connect to redis-server");
  }
}

void RedisServer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  close(connection_);
  std::filesystem::remove(socket());
}

void RedisServer::stop() const {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void RedisServer::go_on() const { ::kill(pid_, SIGCONT); }

std::string RedisServer::command(const std::vector<std::string_view>& arguments) const {
  std::string bytes;
  net::RespWriter out(bytes);
  out.command(arguments);
  if (send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    give_up("cannot send to redis-server");
  }
  net::RespReplyReader reader;
  std::string received;
  while (reader.read(received) == net::RespReplyReader::Found::more) {
    char more[4096];
    const ssize_t got = recv(connection_, more, sizeof more, 0);
    if (got <= 0) give_up("redis-server closed the connection");
    received.append(more, static_cast<std::size_t>(got));
  }
  return shown(reader.reply());
}

}  // namespace headgate::redis
